# A minute of what tests/soak/soak_test.py --minutes 30 does by hand.
tidemark_python_test(soak LABEL crash NIGHT SCRIPT ${CMAKE_CURRENT_LIST_DIR}/soak_test.py ARGS --minutes 1)
# Memory of a backfill under kills. Five million entities by hand: see backfill_test.py.
tidemark_python_test(soak_backfill LABEL crash SCRIPT ${CMAKE_CURRENT_LIST_DIR}/backfill_test.py ARGS --limit 200)
