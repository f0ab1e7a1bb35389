# The programs as processes: start, refusal, limits, stop, and cost.
foreach(suite api api_jobs api_queues backup callback cli cli_completion cli_data cli_mistakes cli_overview cli_poison cli_terminal disks feed
              hosts index jobs lists log metrics objects on_change own_kinds own_kinds_deaths own_kinds_steps
              past pressure quotas recovery rights rules seed shards startup stack_script up tls trace transaction)
  tidemark_python_test(process_${suite} LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
endforeach()
# These wait for leases to end.
foreach(suite blob_owners owners postgres shard_tools table_owners)
  tidemark_python_test(process_${suite} LABEL process ONE_IN 2 TIMEOUT 400 COST 150 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
endforeach()
# These measure the cost of an idle process, so nothing else runs meanwhile.
foreach(suite footprint blob_footprint)
  tidemark_python_test(process_${suite} LABEL process SERIAL SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
endforeach()
# The foundations of the benchmarks' figures: verdicts, pauses, and tables with the right contents.
tidemark_python_test(process_bench_harness LABEL process SCRIPT ${CMAKE_CURRENT_LIST_DIR}/bench_harness_test.py)
