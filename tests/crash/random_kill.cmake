# Everything is killed at random while jobs of all kinds run. Ten minutes of it by hand: see random_kill_test.py.
add_test(NAME crash_random_kill COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/random_kill_test.py)
set(random_kill_tests crash_random_kill)
# The same while the disks fail, by the library of tests/faults.
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  add_test(NAME crash_random_disk COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/random_kill_test.py --disk)
  list(APPEND random_kill_tests crash_random_disk)
endif()
set_tests_properties(${random_kill_tests} PROPERTIES LABELS crash TIMEOUT 1000
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
