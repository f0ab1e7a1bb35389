# The unmodified Azure SDKs against the real stores. One ctest entry per test file; the harness starts the stores that
# the file needs.
set(sdk_directory ${CMAKE_CURRENT_LIST_DIR})
file(GLOB sdk_tests CONFIGURE_DEPENDS ${sdk_directory}/*.test.mjs)
foreach(sdk_test ${sdk_tests})
  get_filename_component(sdk_name ${sdk_test} NAME)
  string(REPLACE ".test.mjs" "" sdk_suite ${sdk_name})
  add_test(NAME sdk_${sdk_suite}
    COMMAND ${sdk_directory}/run_sdk_tests.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${sdk_name})
  set_tests_properties(sdk_${sdk_suite} PROPERTIES LABELS sdk TIMEOUT 600)
endforeach()
