# The table store against kill -9 at every fail point and at random. One entry per class: each has a stack of its own.
foreach(table_case FailPointTest RandomKillTest)
  add_test(NAME crash_table_${table_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/table_crash_test.py ${table_case})
  set_tests_properties(crash_table_${table_case} PROPERTIES LABELS crash TIMEOUT 400
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
