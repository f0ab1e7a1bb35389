# The part of the api that serves files and not routes.
tidemark_test(api_console_test LABEL unit
  SOURCES unit/api_console_test.cpp unit/api_filter_access_test.cpp
  LINK tidemark_api)
