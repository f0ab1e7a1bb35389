tidemark_test(http_test LABEL unit SOURCES unit/http_server_test.cpp LINK tidemark_http)
