# The stack in containers, as compose/ describes it. Skipped, with a reason, where there is no container engine.
tidemark_python_test(compose LABEL compose NIGHT SERIAL TIMEOUT 1800 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/compose_test.py)
# The whole stack in one container.
tidemark_python_test(compose_image LABEL compose NIGHT SERIAL TIMEOUT 900 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/image_test.py)
# Its database image needs Debian's packages from the network. TIDEMARK_FAILOVERS=20 is the long run.
tidemark_python_test(compose_cluster LABEL compose NIGHT SERIAL TIMEOUT 3600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/cluster_test.py)
