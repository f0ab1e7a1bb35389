# The Debian package, made of the programs that are built: what is in it, and what it does on a fresh Debian with systemd.
# The second is skipped, with the reason, where there is no container engine.
add_test(NAME package_contents COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/contents_test.py)
add_test(NAME package_installed COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/installed_test.py)
set_tests_properties(package_contents package_installed PROPERTIES LABELS package TIMEOUT 900
  SKIP_RETURN_CODE 77 ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
set_tests_properties(package_installed PROPERTIES RUN_SERIAL ON)
