# The real programs on a failing disk: a library that is loaded before libc refuses their calls.
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  add_library(disk_faults MODULE ${CMAKE_CURRENT_LIST_DIR}/disk_faults.cpp)
  target_link_libraries(disk_faults PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(disk_faults PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin PREFIX "")
  tidemark_python_test(faults_disk LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/disk_test.py)
endif()
# Flipped bits need no such library, so they run under sanitizers as well.
tidemark_python_test(faults_bit_flips LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/bit_flips_test.py)
