tidemark_test(tracing_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/tracing_test.cpp
  LINK tidemark_tracing tidemark_jobs)
