# A part of the stores' own suites with their rows in PostgreSQL. README.md describes how to run all.
function(tidemark_postgres_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NIGHT" "" "")
  set(night)
  if(ARG_NIGHT)
    set(night NIGHT)
  endif()
  tidemark_add_test(postgres_${name} LABEL postgres ONE_IN 3 ${night} TIMEOUT 900
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../support/postgres.py ${ARG_UNPARSED_ARGUMENTS})
endfunction()

foreach(store table queue blob)
  tidemark_postgres_test(crash_${store} /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../crash/${store}_crash_test.py RandomKillTest)
endforeach()
tidemark_postgres_test(process_feed /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../process/feed_test.py
  FeedTest.test_drop_and_creation_are_told_and_old_changes_go)
foreach(suite transaction rules own_kinds own_kinds_deaths own_kinds_steps)
  tidemark_postgres_test(process_${suite} NIGHT /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/../process/${suite}_test.py)
endforeach()
foreach(suite tables_entities queues_messages blobs)
  tidemark_postgres_test(sdk_${suite} ${CMAKE_CURRENT_LIST_DIR}/../sdk/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${suite}.test.mjs)
endforeach()
