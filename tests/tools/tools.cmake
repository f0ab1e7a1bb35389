# Tools that people already use with blobs, unmodified, against the real blob store. They install nothing: what is not
# there (scripts/setup --tests has it) is skipped and says so.
foreach(tool azcopy azure_cli azure_cli_data azure_cli_login rclone restic)
  add_test(NAME tools_${tool} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/${tool}_test.py)
  set_tests_properties(tools_${tool} PROPERTIES LABELS tools TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
