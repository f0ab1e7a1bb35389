# The unmodified Azure SDKs against the real stores. One ctest entry per test file; the harness starts the stores that
# the file needs.
set(sdk_directory ${CMAKE_CURRENT_LIST_DIR})
file(GLOB sdk_tests CONFIGURE_DEPENDS RELATIVE ${sdk_directory}
     ${sdk_directory}/*.test.mjs ${sdk_directory}/python/*_test.py)
foreach(sdk_test ${sdk_tests})
  string(REGEX REPLACE "(.test.mjs|_test.py)$" "" sdk_suite ${sdk_test})
  string(REPLACE "/" "_" sdk_suite ${sdk_suite})
  add_test(NAME sdk_${sdk_suite}
    COMMAND ${sdk_directory}/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${sdk_test})
  set_tests_properties(sdk_${sdk_suite} PROPERTIES LABELS sdk TIMEOUT 600)
endforeach()

# Every known difference that a case names is explained in docs/compatibility.md, and every explanation has a case.
add_test(NAME sdk_differences COMMAND ${sdk_directory}/compare --check)
set_tests_properties(sdk_differences PROPERTIES LABELS sdk TIMEOUT 60)
