# A minute of what tests/soak/soak_test.py --minutes 30 does by hand.
add_test(NAME soak COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/soak_test.py --minutes 1)
set_tests_properties(soak PROPERTIES LABELS crash TIMEOUT 240
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
# Memory of a backfill under kills. Five million entities by hand: see backfill_test.py.
add_test(NAME soak_backfill COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/backfill_test.py --limit 200)
set_tests_properties(soak_backfill PROPERTIES LABELS crash TIMEOUT 300
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
