# The programs as processes: start, refusal, limits, stop, and what they cost.
foreach(process_suite api backup blob_owners callback cli cli_completion cli_mistakes cli_overview cli_poison cli_terminal disks feed hosts index jobs lists log metrics objects on_change owners past postgres pressure quotas recovery rights seed shard_tools shards startup stack_script table_owners tls trace footprint blob_footprint)
  add_test(NAME process_${process_suite}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/${process_suite}_test.py)
  set_tests_properties(process_${process_suite} PROPERTIES LABELS process TIMEOUT 180
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
# It waits for leases to end.
set_tests_properties(process_blob_owners process_postgres process_owners process_table_owners process_shard_tools PROPERTIES TIMEOUT 400)
# Idle means that nothing else runs here meanwhile.
set_tests_properties(process_footprint process_blob_footprint PROPERTIES RUN_SERIAL ON)
