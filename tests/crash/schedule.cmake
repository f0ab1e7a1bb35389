# Schedules against kill -9.
add_test(NAME crash_schedule COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/schedule_crash_test.py)
set_tests_properties(crash_schedule PROPERTIES LABELS crash TIMEOUT 300
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
