tidemark_test(auth_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/auth_access_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_bearer_token_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_fuzz_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_resource_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_sas_grant_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_sas_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/auth_shared_key_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_tokens_test.cpp ${CMAKE_CURRENT_LIST_DIR}/auth_delegation_test.cpp
  LINK tidemark_auth)
