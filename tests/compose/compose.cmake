# The stack in containers, as compose/ describes it. Skipped, with the reason, where there is no container engine.
add_test(NAME compose COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/compose_test.py)
set_tests_properties(compose PROPERTIES LABELS compose TIMEOUT 1800 RUN_SERIAL ON SKIP_RETURN_CODE 77
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
# Its database image needs Debian's packages from the network. TIDEMARK_FAILOVERS=20 is the long run.
add_test(NAME compose_cluster COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/cluster_test.py)
set_tests_properties(compose_cluster PROPERTIES LABELS compose TIMEOUT 3600 RUN_SERIAL ON SKIP_RETURN_CODE 77
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
