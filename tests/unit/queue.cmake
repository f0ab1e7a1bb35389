tidemark_test(queue_test LABEL unit COST 300
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/queue_ages_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_check_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_extensions_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_lease_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_metrics_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_model_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_property_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/queue_rest_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_shards_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_spread_test.cpp ${CMAKE_CURRENT_LIST_DIR}/queue_transit_test.cpp
  LINK tidemark_queue_server tidemark_memory_engine)
tidemark_test(queue_owners_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/queue_owners_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/temporary_postgres.cpp
  LINK tidemark_queue_server)
tidemark_test(queue_turns_test LABEL unit SOURCES ${CMAKE_CURRENT_LIST_DIR}/queue_turns_test.cpp
  LINK tidemark_queue_server tidemark_memory_engine)
