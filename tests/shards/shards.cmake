# The stores' own suites with their rows divided over shards, as far as stores can be divided.
function(tidemark_shards_test name)
  add_test(NAME shards_${name} COMMAND ${ARGN})
  set_tests_properties(shards_${name} PROPERTIES LABELS shards TIMEOUT 400
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR};TIDEMARK_TEST_SHARDS=8;TIDEMARK_CRASH_SECONDS=10;TIDEMARK_CRASH_ROUNDS=1")
endfunction()

tidemark_shards_test(crash_queue_random /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/queue_crash_test.py RandomKillTest)
tidemark_shards_test(crash_queue_points /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/queue_crash_test.py FailPointTest)
tidemark_shards_test(crash_table_random /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/table_crash_test.py RandomKillTest)
tidemark_shards_test(crash_table_points /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/table_crash_test.py FailPointTest)
tidemark_shards_test(crash_index_kill /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/index_kill_test.py)
tidemark_shards_test(crash_index_points /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/index_crash_test.py)
# Of the backups, what does not look into the files of a database in one shard.
tidemark_shards_test(process_backup /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../process/backup_test.py
  BackupTest.test_what_is_under_way_converges_after_a_restore BackupTest.test_a_second_backup_shares_files_with_the_first
  BackupTest.test_a_kill_in_the_middle_leaves_nothing_that_looks_complete)
foreach(suite jobs recovery quotas objects lists index feed on_change past)
  tidemark_shards_test(process_${suite} /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../process/${suite}_test.py)
endforeach()
foreach(blob_case FailPointTest RandomKillTest SnapshotsTest DeletionTest)
  tidemark_shards_test(crash_blob_${blob_case} /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/blob_crash_test.py ${blob_case})
endforeach()
foreach(object_case FailPointTest ProcessDeathTest)
  tidemark_shards_test(crash_object_${object_case} /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/object_crash_test.py ${object_case})
endforeach()
foreach(suite blobs blobs_access blobs_appends blobs_batch blobs_checksums blobs_conditions blobs_copies blobs_errors blobs_leases
              blobs_pages blobs_snapshots blobs_tags blobs_wire)
  tidemark_shards_test(sdk_${suite}
    ${CMAKE_CURRENT_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${suite}.test.mjs)
endforeach()
tidemark_shards_test(tools_rclone /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../tools/rclone_test.py)
set_tests_properties(shards_tools_rclone PROPERTIES SKIP_RETURN_CODE 77)
foreach(suite account concurrency entities limits patterns queries sas tables transactions types)
  tidemark_shards_test(sdk_tables_${suite}
    ${CMAKE_CURRENT_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} tables_${suite}.test.mjs)
endforeach()
foreach(suite queue_extensions queues_messages)
  tidemark_shards_test(sdk_${suite}
    ${CMAKE_CURRENT_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${suite}.test.mjs)
endforeach()
# Each queue is spread.
tidemark_shards_test(sdk_queues_spread
  ${CMAKE_CURRENT_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} queues_messages.test.mjs)
set_property(TEST shards_sdk_queues_spread APPEND PROPERTY ENVIRONMENT TIDEMARK_TEST_PARTS=4)
