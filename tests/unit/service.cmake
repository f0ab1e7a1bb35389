tidemark_test(service_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/service_front_test.cpp ${CMAKE_CURRENT_LIST_DIR}/service_limits_test.cpp ${CMAKE_CURRENT_LIST_DIR}/service_page_guard_test.cpp ${CMAKE_CURRENT_LIST_DIR}/service_quotas_test.cpp ${CMAKE_CURRENT_LIST_DIR}/service_usage_test.cpp
  LINK tidemark_table_server tidemark_queue_server tidemark_blob_server tidemark_memory_engine)
