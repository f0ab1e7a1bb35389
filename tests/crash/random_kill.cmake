# Everything is killed at random while jobs of all kinds run. Ten minutes of it by hand: see random_kill_test.py.
add_test(NAME crash_random_kill COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/random_kill_test.py)
set_tests_properties(crash_random_kill PROPERTIES LABELS crash TIMEOUT 1000
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
