tidemark_program(queue_crash_client
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/queue_crash_client.cpp
  LINK tidemark_queue_server tidemark_process tidemark_rpc tidemark_service)
# The queue service against kill -9 at every fail point and at random. One entry per class: each has a stack of its own.
foreach(queue_case FailPointTest RandomKillTest)
  add_test(NAME crash_queue_${queue_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/queue_crash_test.py ${queue_case})
  set_tests_properties(crash_queue_${queue_case} PROPERTIES LABELS crash TIMEOUT 400
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()

add_test(NAME crash_queue_groups COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/queue_groups_crash_test.py)
set_tests_properties(crash_queue_groups PROPERTIES LABELS crash TIMEOUT 400
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
