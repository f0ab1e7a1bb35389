# What the benchmarks' figures rest on: verdicts, pauses, and tables that hold what they should.
add_test(NAME process_bench_harness COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/bench_harness_test.py)
set_tests_properties(process_bench_harness PROPERTIES LABELS process TIMEOUT 120
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
