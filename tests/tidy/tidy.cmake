add_test(NAME tidy COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py)
set_tests_properties(tidy PROPERTIES LABELS unit ENVIRONMENT "TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")

# What finds mistakes without running anything: house rules, formatting, clang-tidy. Only the precompiled header is built.
find_program(RUN_CLANG_TIDY run-clang-tidy-19)
if(RUN_CLANG_TIDY)
  add_custom_target(check USES_TERMINAL
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py
    COMMAND ${RUN_CLANG_TIDY} -p ${CMAKE_BINARY_DIR} -quiet
            "${PROJECT_SOURCE_DIR}/\\(common\\|table_store\\|queue_service\\|blob_store\\|jobs\\|indexes\\|feeds\\|workers\\|api\\)/")
  add_dependencies(check precompiled_header)
endif()
