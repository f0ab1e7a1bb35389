tidemark_test(table_rest_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_rest_access_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_batch_mime_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_batch_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_entities_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_etag_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_fencing_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_limits_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_odata_json_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_rest_url_test.cpp
  LINK tidemark_table_server tidemark_memory_engine)
