file(GLOB indexes_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/indexes_*_test.cpp)
tidemark_test(indexes_test LABEL unit
  SOURCES ${indexes_tests}
  LINK tidemark_indexes tidemark_table_server tidemark_memory_engine)
