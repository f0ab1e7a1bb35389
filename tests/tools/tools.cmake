# Tools that people already use with blobs, unmodified, against the real blob store. They install nothing: what is not
# there (scripts/setup --tests has it) is skipped and says so.
foreach(tool azcopy rclone restic)
  tidemark_python_test(tools_${tool} LABEL tools TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${tool}_test.py)
endforeach()
# Each of its commands takes seconds to start, and speaks through the Python SDKs, which tests/sdk has.
foreach(tool azure_cli azure_cli_data azure_cli_login)
  tidemark_python_test(tools_${tool} LABEL tools NIGHT TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${tool}_test.py)
endforeach()
