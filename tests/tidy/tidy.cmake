tidemark_python_test(tidy LABEL tidy SCRIPT ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py)
tidemark_python_test(english LABEL tidy SCRIPT ${CMAKE_CURRENT_LIST_DIR}/english_test.py)
tidemark_python_test(openapi LABEL tidy SCRIPT ${CMAKE_CURRENT_LIST_DIR}/openapi_test.py)

# clang-tidy as the build compiles the product: in a release build the sources of a folder as one, in the preset check
# each file alone, which also shows missing includes. The gate reads the folders that were changed, the night reads all.
# It begins first and uses the processor time that the other tests, which wait most of the time, leave.
find_program(RUN_CLANG_TIDY run-clang-tidy-19)
find_path(CLANG_TIDY_HEADERS clang-tidy/ClangTidyCheck.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
find_path(LLVM_HEADERS llvm/ADT/StringRef.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
if(NOT (RUN_CLANG_TIDY AND CLANG_TIDY_HEADERS AND LLVM_HEADERS) OR CMAKE_CXX_FLAGS MATCHES "fsanitize")
  return()
endif()
add_library(project_scope MODULE ${CMAKE_CURRENT_LIST_DIR}/project_scope.cpp)
target_include_directories(project_scope SYSTEM PRIVATE ${CLANG_TIDY_HEADERS} ${LLVM_HEADERS})
target_compile_options(project_scope PRIVATE -fno-rtti)
set(clang_tidy ${CMAKE_CURRENT_LIST_DIR}/run_clang_tidy ${CMAKE_BINARY_DIR} $<TARGET_FILE:project_scope>)
tidemark_add_test(clang_tidy LABEL tidy TIMEOUT 2400 COST 1000 COMMAND nice -n 15 ${clang_tidy} changed)
tidemark_add_test(clang_tidy_all LABEL tidy NIGHT TIMEOUT 5400 COST 1000 COMMAND nice -n 15 ${clang_tidy} all)
add_custom_target(check USES_TERMINAL VERBATIM
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py
  COMMAND ${clang_tidy} all)
add_dependencies(check precompiled_header project_scope)
