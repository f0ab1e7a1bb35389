# Tools that people already use with blobs, unmodified, against the real blob store. The tests install nothing: a test
# whose tool is missing (scripts/setup --tests has it) is skipped and says so.
foreach(tool azcopy rclone restic)
  tidemark_python_test(tools_${tool} LABEL tools ONE_IN 3 TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${tool}_test.py)
endforeach()
# Each of azure-cli's commands takes seconds to start, and uses the Python SDKs, which tests/sdk covers.
foreach(tool azure_cli azure_cli_data azure_cli_login)
  tidemark_python_test(tools_${tool} LABEL tools NIGHT TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${tool}_test.py)
endforeach()
