add_test(NAME tidy COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py)
set_tests_properties(tidy PROPERTIES LABELS unit ENVIRONMENT "TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")

# clang-tidy over the whole product takes a while and has time: most tests wait for something. So it begins first and takes
# what the others leave of the processors. The target `check` does the same without a build of anything else.
find_program(RUN_CLANG_TIDY run-clang-tidy-19)
if(RUN_CLANG_TIDY)
  set(clang_tidy ${CMAKE_CURRENT_LIST_DIR}/run_clang_tidy -p ${CMAKE_BINARY_DIR} -quiet
      "${PROJECT_SOURCE_DIR}/(common|table_store|queue_service|blob_store|jobs|indexes|feeds|workers|api)/")
  add_test(NAME clang_tidy COMMAND nice -n 15 ${clang_tidy})
  set_tests_properties(clang_tidy PROPERTIES LABELS tidy TIMEOUT 5400 COST 100000)
  add_custom_target(check USES_TERMINAL VERBATIM
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py
    COMMAND ${clang_tidy})
  add_dependencies(check precompiled_header)
endif()
