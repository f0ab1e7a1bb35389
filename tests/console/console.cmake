# The console in a browser over a real stack, each test file with a stack of its own.
foreach(part views rights hostile bulk hour)
  tidemark_add_test(console_${part} LABEL console TIMEOUT 900
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_console_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${part})
endforeach()
