# Code that the tests of several areas share, apart from headers.
tidemark_library(tidemark_memory_engine
  FOLDERS support
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/memory_engine.cpp ${CMAKE_CURRENT_LIST_DIR}/repeating_engine.cpp
          ${CMAKE_CURRENT_LIST_DIR}/waiting_engine.cpp
  LINK tidemark_kv tidemark_postgres tidemark_shards)
