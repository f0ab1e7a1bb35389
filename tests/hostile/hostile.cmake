# What somebody sends who means harm, to the real programs.
foreach(hostile_suite browser http json limits routes)
  add_test(NAME hostile_${hostile_suite} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/${hostile_suite}_test.py)
  set_tests_properties(hostile_${hostile_suite} PROPERTIES LABELS process TIMEOUT 180
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
