tidemark_test(process_test LABEL unit
  SOURCES unit/process_config_test.cpp unit/process_runtime_test.cpp
  LINK tidemark_process)
