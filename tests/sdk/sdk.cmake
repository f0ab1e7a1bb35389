# The unmodified Azure SDKs against the real stores. One ctest entry per test file; the harness starts the stores that
# the file needs.
file(GLOB sdk_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR}
     ${CMAKE_CURRENT_LIST_DIR}/*.test.mjs ${CMAKE_CURRENT_LIST_DIR}/python/*_test.py)
foreach(sdk_test ${sdk_tests})
  string(REGEX REPLACE "(.test.mjs|_test.py)$" "" suite ${sdk_test})
  string(REPLACE "/" "_" suite ${suite})
  tidemark_add_test(sdk_${suite} LABEL sdk TIMEOUT 600
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${sdk_test})
endforeach()

# Every known difference that a case names is explained in docs/compatibility.md, and every explanation has a case.
tidemark_add_test(sdk_differences LABEL sdk TIMEOUT 60 COMMAND ${CMAKE_CURRENT_LIST_DIR}/compare --check)
