file(GLOB feeds_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/feeds_*_test.cpp)
tidemark_test(feeds_test LABEL unit
  SOURCES ${feeds_tests}
  LINK tidemark_feeds tidemark_table_server tidemark_memory_engine)
