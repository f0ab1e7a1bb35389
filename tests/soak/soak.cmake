# A minute of tests/soak/soak_test.py, which by hand runs with --minutes 30.
tidemark_python_test(soak LABEL crash NIGHT SCRIPT ${CMAKE_CURRENT_LIST_DIR}/soak_test.py ARGS --minutes 1)
# Memory of a backfill under kills. Five million entities by hand: see backfill_test.py.
tidemark_python_test(soak_backfill LABEL crash SCRIPT ${CMAKE_CURRENT_LIST_DIR}/backfill_test.py ARGS --limit 200)
