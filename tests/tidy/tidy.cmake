add_test(NAME tidy COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/tidy_test.py)
set_tests_properties(tidy PROPERTIES LABELS unit ENVIRONMENT "TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
