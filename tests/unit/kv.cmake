tidemark_test(kv_test LABEL unit COST 120 TIMEOUT 600
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/kv_age_clock_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_catalogue_copies_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_checksums_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_key_codec_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_engine_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_fading_rows_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_group_handover_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_hot_names_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_operation_ledgers_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/kv_known_rows_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_recent_rows_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_rewritten_rows_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_postgres_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_postgres_hosts_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_postgres_lease_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_postgres_moments_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/../support/socket_proxy.cpp ${CMAKE_CURRENT_LIST_DIR}/../support/temporary_postgres.cpp
          ${CMAKE_CURRENT_LIST_DIR}/kv_rocksdb_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_shard_claims_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_shard_owners_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_power_loss_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/kv_stored_engine_test.cpp ${CMAKE_CURRENT_LIST_DIR}/kv_write_overlay_test.cpp
  LINK tidemark_postgres tidemark_memory_engine)
