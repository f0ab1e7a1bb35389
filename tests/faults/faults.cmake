# The real programs on a disk that fails: a library that is loaded before libc refuses their calls.
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  add_library(disk_faults MODULE ${CMAKE_CURRENT_LIST_DIR}/disk_faults.cpp)
  target_link_libraries(disk_faults PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(disk_faults PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin PREFIX "")
  add_test(NAME faults_disk COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/disk_test.py)
  set_tests_properties(faults_disk PROPERTIES LABELS process TIMEOUT 180
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endif()
# Flipped bits need no such library, so they run under sanitizers as well.
add_test(NAME faults_bit_flips COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/bit_flips_test.py)
set_tests_properties(faults_bit_flips PROPERTIES LABELS process TIMEOUT 300
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
