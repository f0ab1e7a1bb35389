# Jobs against kill -9 and SIGSTOP of the real processes. One entry per class: each has a stack of its own.
foreach(archive_case FailPointTest ProcessDeathTest)
  add_test(NAME crash_archive_${archive_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/archive_crash_test.py ${archive_case})
  set_tests_properties(crash_archive_${archive_case} PROPERTIES LABELS crash TIMEOUT 400
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
add_test(NAME crash_archive_pairs COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/fail_point_pairs_test.py)
set_tests_properties(crash_archive_pairs PROPERTIES LABELS crash TIMEOUT 600
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
add_test(NAME crash_archive_accounts COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/account_crash_test.py)
set_tests_properties(crash_archive_accounts PROPERTIES LABELS crash TIMEOUT 600
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
