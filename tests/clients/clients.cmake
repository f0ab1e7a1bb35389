# The clients of the api in other languages (clients/): the same cases for each.
foreach(language Python TypeScript CSharp)
  string(TOLOWER ${language} suite)
  tidemark_python_test(clients_${suite} LABEL process ONE_IN 3 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/clients_test.py ARGS ${language})
endforeach()
