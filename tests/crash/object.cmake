# Archives in containers and directories against kill -9 and SIGSTOP. One entry per class: each has a stack of its own.
foreach(object_case FailPointTest AdoptTest OffloadTest DiscardTest ProcessDeathTest)
  add_test(NAME crash_object_${object_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/object_crash_test.py ${object_case})
  set_tests_properties(crash_object_${object_case} PROPERTIES LABELS crash TIMEOUT 600
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
