# Registers tests. Every test runs through tests/support/run_test.py, which gives it a directory of its own, notes its
# cost, and fails it if it leaves a process behind. Tests with the label "night" are run only by `scripts/test --all`.

# tidemark_add_test(name LABEL l [NIGHT] [ONE_IN n] [SERIAL] [TIMEOUT s] [COST s] [PROCESSORS n] [ENVIRONMENT NAME=value...]
#                   COMMAND ...)
#   ONE_IN       takes turns: one gate in n has the test, the night always. For what repeats other tests in another setting
#   TIMEOUT      against hanging, not for speed (300 s); TIDEMARK_TEST_FACTOR multiplies it
#   COST         seconds; the longest tests begin first
#   SERIAL       nothing else runs meanwhile
#   A test that exits with 77 was skipped; its last line says why.
function(tidemark_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NIGHT;SERIAL" "LABEL;ONE_IN;TIMEOUT;COST;PROCESSORS" "ENVIRONMENT;COMMAND")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  # A sanitizer makes every test several times slower.
  if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  if(ARG_ONE_IN)  # tests that are registered one after the other have different turns
    get_property(turn GLOBAL PROPERTY TIDEMARK_TURNS)
    math(EXPR turn "${turn} + 1")
    set_property(GLOBAL PROPERTY TIDEMARK_TURNS ${turn})
    list(APPEND ARG_ENVIRONMENT TIDEMARK_TURN=${turn}/${ARG_ONE_IN})
  endif()
  list(GET ARG_COMMAND 0 program)
  if(TARGET ${program})
    list(POP_FRONT ARG_COMMAND)
    list(PREPEND ARG_COMMAND $<TARGET_FILE:${program}>)
  endif()
  set(labels ${ARG_LABEL})
  if(ARG_NIGHT)
    list(APPEND labels night)
  endif()
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/support/run_test.py ${name} ${ARG_TIMEOUT} ${ARG_COMMAND})
  math(EXPR last_resort "20 * ${ARG_TIMEOUT} + 100")  # run_test.py must be faster than this
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${last_resort} SKIP_RETURN_CODE 77
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR};TIDEMARK_TEST_COSTS=${CMAKE_BINARY_DIR}/costs;${ARG_ENVIRONMENT}")
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(ARG_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_PROCESSORS})
  endif()
  if(ARG_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# tidemark_python_test(name SCRIPT path [ARGS ...] and the arguments of tidemark_add_test): a test in Python, run by
# Debian's Python 3.
function(tidemark_python_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SCRIPT" "ARGS")
  tidemark_add_test(${name} ${ARG_UNPARSED_ARGUMENTS} COMMAND /usr/bin/python3 ${ARG_SCRIPT} ${ARG_ARGS})
endfunction()

# Freed memory is overwritten, so a test that uses it finds no value that still looks right.
set(TIDEMARK_OVERWRITTEN_HEAP MALLOC_PERTURB_=165)

# tidemark_test(name LABEL unit|... SOURCES ... LINK ... [ARGS ...]): a GoogleTest program that ctest runs as a whole.
# It is compiled without optimisation, because optimising would take longer than running does; the libraries that it
# tests are optimised.
function(tidemark_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LABEL" "SOURCES;LINK;ARGS")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  tidemark_unity(${name} ${ARG_SOURCES})
  tidemark_precompiled(${name} precompiled_header_of_tests ${TIDEMARK_TEST_OPTIONS})
  # GoogleTest's macros name the file of a test: without the path of the checkout, several checkouts share its objects, too.
  target_compile_options(${name} PRIVATE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
  tidemark_add_test(${name} LABEL ${ARG_LABEL} ENVIRONMENT GTEST_BRIEF=1 ${TIDEMARK_OVERWRITTEN_HEAP} ${ARG_UNPARSED_ARGUMENTS}
    COMMAND ${name} ${ARG_ARGS})
endfunction()
