tidemark_test(protocol_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/protocol_service_properties_test.cpp ${CMAKE_CURRENT_LIST_DIR}/protocol_cors_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/protocol_stored_policies_test.cpp
  LINK tidemark_protocol)
