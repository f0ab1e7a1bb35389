# Callbacks and what tells of ends against kill -9. One entry a case: each has a stack of its own.
foreach(callback_case a_worker_dies_at_every_point the_api_dies_while_it_cancels random_kills)
  add_test(NAME crash_callback_${callback_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/callback_crash_test.py CallbackCrashTest.test_${callback_case})
  set_tests_properties(crash_callback_${callback_case} PROPERTIES LABELS crash TIMEOUT 600
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
