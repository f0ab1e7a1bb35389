# The files of monitoring/ beside a real Prometheus; skipped, with the reason, where Debian's package prometheus is not.
foreach(monitoring_suite rules alerts)
  add_test(NAME monitoring_${monitoring_suite}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/${monitoring_suite}_test.py)
  set_tests_properties(monitoring_${monitoring_suite} PROPERTIES LABELS process TIMEOUT 600
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
