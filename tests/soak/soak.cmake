# A minute of what tests/soak/soak_test.py --minutes 30 does by hand.
add_test(NAME soak COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/soak_test.py --minutes 1)
set_tests_properties(soak PROPERTIES LABELS crash TIMEOUT 240
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
