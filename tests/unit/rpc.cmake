tidemark_test(rpc_test LABEL unit SOURCES unit/rpc_curve_test.cpp unit/rpc_trace_test.cpp unit/rpc_transport_test.cpp unit/rpc_wire_test.cpp LINK tidemark_rpc)
