add_test(NAME tidy COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py)
set_tests_properties(tidy PROPERTIES LABELS tidy TIMEOUT 300 ENVIRONMENT "TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")

# clang-tidy over the whole product, as the build compiles it: in a release build the sources of a folder as one, in the
# preset check each file alone, which also shows an include that is missing. It begins first and takes what the other
# tests, which wait most of the time, leave of the processors.
find_program(RUN_CLANG_TIDY run-clang-tidy-19)
find_path(CLANG_TIDY_HEADERS clang-tidy/ClangTidyCheck.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
find_path(LLVM_HEADERS llvm/ADT/StringRef.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
if(NOT (RUN_CLANG_TIDY AND CLANG_TIDY_HEADERS AND LLVM_HEADERS) OR CMAKE_CXX_FLAGS MATCHES "fsanitize")
  return()
endif()
add_library(project_scope MODULE ${CMAKE_CURRENT_LIST_DIR}/project_scope.cpp)
target_include_directories(project_scope SYSTEM PRIVATE ${CLANG_TIDY_HEADERS} ${LLVM_HEADERS})
target_compile_options(project_scope PRIVATE -fno-rtti)
set(product "(common|table_store|queue_service|blob_store|jobs|indexes|feeds|workers|api)/")
set(clang_tidy ${CMAKE_CURRENT_LIST_DIR}/run_clang_tidy -load $<TARGET_FILE:project_scope> -p ${CMAKE_BINARY_DIR} -quiet
    "^${PROJECT_SOURCE_DIR}/${product}" "^${CMAKE_BINARY_DIR}/${product}.*/Unity/")
add_test(NAME clang_tidy COMMAND nice -n 15 ${clang_tidy})
set_tests_properties(clang_tidy PROPERTIES LABELS tidy TIMEOUT 5400 COST 100000)
add_custom_target(check USES_TERMINAL VERBATIM
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py
  COMMAND ${clang_tidy})
add_dependencies(check precompiled_header project_scope)
