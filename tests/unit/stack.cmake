file(GLOB stack_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/stack_*_test.cpp)
tidemark_test(stack_test LABEL unit SOURCES ${stack_tests} LINK tidemark_stack)
