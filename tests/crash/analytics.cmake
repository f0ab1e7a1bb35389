# Request logs and metrics against kill -9 of stores and workers on their way.
add_test(NAME crash_analytics COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/analytics_crash_test.py)
set_tests_properties(crash_analytics PROPERTIES LABELS crash TIMEOUT 400
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
