# The real programs against kill -9 and SIGSTOP (README.md). A script that is listed class by class has a stack for each
# class.
function(tidemark_crash_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "CASES")
  if(NOT ARG_CASES)
    tidemark_python_test(crash_${name} LABEL crash TIMEOUT 600 COST 100 ${ARG_UNPARSED_ARGUMENTS} SCRIPT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${script})
  endif()
  foreach(case ${ARG_CASES})
    string(REGEX REPLACE "^[A-Za-z]*[.]test_" "" short ${case})
    tidemark_python_test(crash_${name}_${short} LABEL crash TIMEOUT 600 COST 100 ${ARG_UNPARSED_ARGUMENTS}
      SCRIPT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${script} ARGS ${case})
  endforeach()
endfunction()

tidemark_test(kv_kill_test LABEL crash SOURCES ${CMAKE_CURRENT_LIST_DIR}/kv_kill_test.cpp LINK tidemark_kv)

# The stores.
tidemark_program(queue_crash_client
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/queue_crash_client.cpp
  LINK tidemark_queue_server tidemark_process tidemark_rpc tidemark_service)
tidemark_crash_test(table table_crash_test.py CASES FailPointTest RandomKillTest)
tidemark_crash_test(queue queue_crash_test.py CASES FailPointTest RandomKillTest)
tidemark_crash_test(queue_groups queue_groups_crash_test.py)
tidemark_crash_test(blob blob_crash_test.py CASES FailPointTest RandomKillTest SnapshotsTest DeletionTest)
tidemark_crash_test(analytics analytics_crash_test.py)

# Jobs, callbacks, schedules.
tidemark_crash_test(archive archive_crash_test.py CASES FailPointTest ProcessDeathTest)
tidemark_crash_test(archive_pairs fail_point_pairs_test.py)
tidemark_crash_test(archive_accounts account_crash_test.py)
tidemark_crash_test(object object_crash_test.py CASES FailPointTest AdoptTest OffloadTest DiscardTest ProcessDeathTest)
tidemark_crash_test(callback callback_crash_test.py CASES CallbackCrashTest.test_a_worker_dies_at_every_point
  CallbackCrashTest.test_the_api_dies_while_it_cancels CallbackCrashTest.test_random_kills)
tidemark_crash_test(schedule schedule_crash_test.py)
# One bulk job against kill -9 of its workers; a million entities by hand, see bulk_kill.py.
set(bulk_kill_size --entities 30000 --per-second 3000 --kill-every 2)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  list(APPEND bulk_kill_size --any-memory)  # a sanitizer keeps freed memory
endif()
tidemark_python_test(crash_bulk_kill LABEL crash TIMEOUT 400 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/bulk_kill.py ARGS ${bulk_kill_size})

# Indexes: at each step, at random for as long as one likes, and over Debian's package index.
tidemark_crash_test(index_points index_crash_test.py)
tidemark_crash_test(index_kill index_kill_test.py)
tidemark_crash_test(package_index package_index_test.py)

# Everything at random while jobs of all kinds run, and the same while the disks fail, with the library of tests/faults.
tidemark_crash_test(random_kill random_kill_test.py)
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  tidemark_python_test(crash_random_disk LABEL crash TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/random_kill_test.py ARGS --disk)
endif()
