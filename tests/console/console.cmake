# The console in a browser over a real stack. Each test file has a stack of its own.
function(tidemark_console_test part)
  tidemark_add_test(console_${part} LABEL console ONE_IN 2 TIMEOUT 1500 ${ARGN}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run_console_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${part})
endfunction()
foreach(part page away poison jobs work indexes tables stores rights narrow hostile bulk)
  tidemark_console_test(${part} COST 150)
endforeach()
tidemark_console_test(hour NIGHT)  # a page that is left open
