# Each fuzzer for 20 s (TIDEMARK_FUZZ_SECONDS), from the kept corpora; see tests/fuzz/run.
add_test(NAME fuzz COMMAND ${CMAKE_CURRENT_LIST_DIR}/run --build ${PROJECT_SOURCE_DIR}/build/fuzz)
set_tests_properties(fuzz PROPERTIES LABELS fuzz TIMEOUT 3600 PROCESSORS 2)
