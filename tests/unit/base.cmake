tidemark_test(base_test LABEL unit SOURCES unit/base_time_test.cpp unit/base_encoding_test.cpp unit/base_async_test.cpp unit/base_fail_points_test.cpp unit/base_try_test.cpp LINK tidemark_base)
