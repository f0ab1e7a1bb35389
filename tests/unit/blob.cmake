tidemark_test(blob_test LABEL unit COST 100
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/blob_appends_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_browser_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_check_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_claims_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_client_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_kept_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_md5_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_model_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_owners_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_page_extents_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_pages_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_property_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_service_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_shards_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_structured_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/blob_tags_test.cpp
  LINK tidemark_blob_server tidemark_memory_engine)
