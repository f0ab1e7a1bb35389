# Requests of an attacker to the real programs.
foreach(suite browser http json limits routes)
  tidemark_python_test(hostile_${suite} LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
endforeach()
