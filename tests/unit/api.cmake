file(GLOB api_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/api_*_test.cpp)
tidemark_test(api_test LABEL unit SOURCES ${api_tests} LINK tidemark_api tidemark_workers tidemark_table_server tidemark_memory_engine)
