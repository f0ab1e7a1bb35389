tidemark_test(http_test LABEL unit SOURCES unit/http_server_test.cpp unit/http_outbox_test.cpp unit/http_tls_test.cpp LINK tidemark_http)
