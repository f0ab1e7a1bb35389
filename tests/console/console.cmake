# The console in a browser: every view and action, over a real stack.
add_test(NAME console
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_console_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(console PROPERTIES LABELS console TIMEOUT 900)
