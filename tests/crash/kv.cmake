tidemark_test(kv_kill_test LABEL crash SOURCES ${CMAKE_CURRENT_LIST_DIR}/kv_kill_test.cpp LINK tidemark_kv)
