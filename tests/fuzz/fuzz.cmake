# Each fuzzer for 20 s, and at night for 200 s, from the kept corpora; see tests/fuzz/run.
tidemark_add_test(fuzz LABEL fuzz NIGHT PROCESSORS 2 TIMEOUT 7200
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/run --build ${PROJECT_SOURCE_DIR}/build/fuzz)
