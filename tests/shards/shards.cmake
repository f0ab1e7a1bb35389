# The stores' own suites with their rows divided over shards, as far as stores can be divided.
function(tidemark_shards_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "ENVIRONMENT;COMMAND")
  tidemark_add_test(shards_${name} LABEL shards ONE_IN 3 TIMEOUT 400 ${ARG_UNPARSED_ARGUMENTS}
    ENVIRONMENT TIDEMARK_TEST_SHARDS=8 ${ARG_ENVIRONMENT} COMMAND ${ARG_COMMAND})
endfunction()
function(tidemark_shards_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "NIGHT" "" "")
  set(night)
  if(ARG_NIGHT)
    set(night NIGHT)
  endif()
  tidemark_shards_test(${name} ${night} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../${script} ${ARG_UNPARSED_ARGUMENTS})
endfunction()
function(tidemark_shards_sdk_test name suite)
  tidemark_shards_test(sdk_${name} ${ARGN}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${suite}.test.mjs)
endfunction()

foreach(store queue table)
  tidemark_shards_python_test(crash_${store}_random crash/${store}_crash_test.py RandomKillTest)
  tidemark_shards_python_test(crash_${store}_points crash/${store}_crash_test.py FailPointTest)
endforeach()
tidemark_shards_python_test(crash_index_kill crash/index_kill_test.py)
tidemark_shards_python_test(crash_index_points crash/index_crash_test.py NIGHT)
foreach(case FailPointTest RandomKillTest SnapshotsTest DeletionTest)
  tidemark_shards_python_test(crash_blob_${case} crash/blob_crash_test.py ${case})
endforeach()
foreach(case FailPointTest ProcessDeathTest)
  tidemark_shards_python_test(crash_object_${case} crash/object_crash_test.py ${case} NIGHT)
endforeach()
# Backups, without the cases that look into the files of a database in one shard.
tidemark_shards_python_test(process_backup process/backup_test.py
  BackupTest.test_what_is_under_way_converges_after_a_restore BackupTest.test_a_second_backup_shares_files_with_the_first
  BackupTest.test_a_kill_in_the_middle_leaves_nothing_that_looks_complete)
foreach(suite jobs recovery quotas objects lists index feed on_change past transaction)
  tidemark_shards_python_test(process_${suite} process/${suite}_test.py)
endforeach()
foreach(suite rules own_kinds own_kinds_deaths own_kinds_steps)
  tidemark_shards_python_test(process_${suite} process/${suite}_test.py NIGHT)
endforeach()
tidemark_shards_python_test(tools_rclone tools/rclone_test.py NIGHT)
foreach(suite blobs blobs_access blobs_appends blobs_batch blobs_checksums blobs_conditions blobs_copies blobs_errors blobs_leases
              blobs_pages blobs_snapshots blobs_tags blobs_wire queue_extensions queues_messages tables_account tables_concurrency
              tables_entities tables_limits tables_queries tables_sas tables_tables tables_transactions tables_types)
  tidemark_shards_sdk_test(${suite} ${suite})
endforeach()
tidemark_shards_sdk_test(tables_patterns tables_patterns NIGHT)
# Each queue is spread.
tidemark_shards_sdk_test(queues_spread queues_messages ENVIRONMENT TIDEMARK_TEST_PARTS=4)
