# The clients of the api in other languages (clients/).
tidemark_python_test(clients_python LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/python_client_test.py)
tidemark_python_test(clients_typescript LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/typescript_client_test.py)
