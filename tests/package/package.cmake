# The Debian package, made of the programs that are built: its contents, and its behaviour on a fresh Debian with
# systemd. The second is skipped, with a reason, where there is no container engine.
tidemark_python_test(package_contents LABEL package TIMEOUT 900 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/contents_test.py)
tidemark_python_test(package_installed LABEL package NIGHT SERIAL TIMEOUT 900 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/installed_test.py)
