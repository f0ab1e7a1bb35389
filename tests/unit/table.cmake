tidemark_test(table_model_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_model_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_query_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_records_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_plan_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_list_plan_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_scan_turns_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_random_filter.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_reference.cpp
  LINK tidemark_table_server tidemark_memory_engine)
tidemark_test(table_service_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_service_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_directory_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_client_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_move_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_steps_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_check_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_shards_test.cpp
  LINK tidemark_table_server tidemark_memory_engine)
tidemark_test(table_changes_test LABEL unit COST 90
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_changes_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_changes_races_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_changes_property_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_feeds_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_listed_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_copies_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_searches_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_changes_shards_test.cpp
  LINK tidemark_table_server tidemark_memory_engine)
# The same suites with the tables over several shards.
tidemark_add_test(table_changes_test_shards LABEL unit ENVIRONMENT GTEST_BRIEF=1 TIDEMARK_TEST_SHARDS=8 ${TIDEMARK_OVERWRITTEN_HEAP}
  COMMAND table_changes_test --gtest_filter=-*Property*)
tidemark_test(table_property_test LABEL unit COST 60
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_property_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_random_filter.cpp
          ${CMAKE_CURRENT_LIST_DIR}/table_reference.cpp
  LINK tidemark_table_server tidemark_memory_engine)
tidemark_test(table_owners_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/table_owners_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/temporary_postgres.cpp
  LINK tidemark_table_server)
