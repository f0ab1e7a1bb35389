# The console in a browser over a real stack, each test file with a stack of its own.
foreach(part views rights hostile bulk hour)
  add_test(NAME console_${part}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_console_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${part})
  set_tests_properties(console_${part} PROPERTIES LABELS console TIMEOUT 900)
endforeach()
