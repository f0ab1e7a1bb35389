tidemark_test(backup_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/backup_test.cpp
  LINK tidemark_backup)
