# Indexes follow every write while everything that keeps them is killed and frozen. Ten minutes of it by hand: see index_kill_test.py.
add_test(NAME crash_index_kill COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/index_kill_test.py)
# They die at each step.
add_test(NAME crash_index_points COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/index_crash_test.py)
# Part of Debian's package index. All of it, with 100,000 writes, by hand: see package_index_test.py.
add_test(NAME crash_package_index COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/package_index_test.py)
set_tests_properties(crash_index_kill crash_index_points crash_package_index PROPERTIES LABELS crash TIMEOUT 600
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
