# The files in examples/: the schemas of Kubernetes come from npm. examples/dotnet is tested in tests/dotnet.
tidemark_python_test(examples LABEL examples SCRIPT ${CMAKE_CURRENT_LIST_DIR}/examples_test.py)
tidemark_python_test(examples_orders LABEL examples SCRIPT ${CMAKE_CURRENT_LIST_DIR}/orders_test.py)
# These start containers.
tidemark_python_test(examples_containers LABEL examples NIGHT SERIAL TIMEOUT 900 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/containers_test.py)
