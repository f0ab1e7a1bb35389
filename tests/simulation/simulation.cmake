# The stack in one process under a seeded scheduler. Further tests prove that it notices when a rule is taken out.
set(simulation_directory ${CMAKE_CURRENT_LIST_DIR})
set(simulation_sources
  ${simulation_directory}/blob_oracle.cpp ${simulation_directory}/blob_people.cpp ${simulation_directory}/blob_world.cpp
  ${simulation_directory}/callback_oracle.cpp ${simulation_directory}/client_hosts.cpp
  ${simulation_directory}/endpoint.cpp ${simulation_directory}/faults.cpp ${simulation_directory}/index_oracle.cpp
  ${simulation_directory}/lookup_oracle.cpp ${simulation_directory}/lookups.cpp ${simulation_directory}/main.cpp ${simulation_directory}/network.cpp
  ${simulation_directory}/own_workers.cpp
  ${simulation_directory}/plan.cpp ${simulation_directory}/queue_oracle.cpp ${simulation_directory}/scheduler.cpp
  ${simulation_directory}/ship_oracle.cpp
  ${simulation_directory}/shared_database.cpp ${simulation_directory}/shared_owners.cpp
  ${simulation_directory}/store_hosts.cpp ${simulation_directory}/table_oracle.cpp ${simulation_directory}/trace.cpp
  ${simulation_directory}/transfer_oracle.cpp
  ${simulation_directory}/watched_engine.cpp ${simulation_directory}/witnesses.cpp ${simulation_directory}/world.cpp)
add_executable(simulation_test ${simulation_sources})
tidemark_unity(simulation_test ${simulation_sources})
target_link_libraries(simulation_test PRIVATE tidemark_workers tidemark_queue_server tidemark_table_server
                                              tidemark_blob_server tidemark_histories tidemark_memory_engine)
tidemark_precompiled(simulation_test precompiled_header)
tidemark_inline_less(simulation_test)

function(tidemark_simulation_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "ONE_IN" "")
  set(turns)
  if(ARG_ONE_IN)
    set(turns ONE_IN ${ARG_ONE_IN})
  endif()
  tidemark_add_test(simulation_${name} LABEL simulation ${turns} TIMEOUT 900 ENVIRONMENT ${TIDEMARK_OVERWRITTEN_HEAP}
    COMMAND simulation_test ${ARG_UNPARSED_ARGUMENTS})
endfunction()
# Other seeds for each commit, and ten times as many at night.
tidemark_simulation_test(seeds --count 200)
tidemark_simulation_test(repeats_exactly --seeds 1..20 --twice)
tidemark_simulation_test(blobs --blobs --count 200)

# tidemark_simulation_bites(name RULE INVARIANT [FIRST_SEED]): a violation of the invariant is found without the rule. The
# run ends with the first seed that shows it; some of these crashes are rare, so the search begins near the first of them.
function(tidemark_simulation_bites name rule invariant)
  set(first 1)
  if(ARGC GREATER 3)
    set(first ${ARGV3})
  endif()
  tidemark_simulation_test(${name} ONE_IN 3 --seeds ${first}..5000 --without ${rule} --expect "${invariant}")
endfunction()
tidemark_simulation_bites(bites_without_etag-guard etag-guard A3)
tidemark_simulation_bites(bites_without_fence fence A4)
tidemark_simulation_bites(bites_without_put-if-newer put-if-newer A2 581)
tidemark_simulation_bites(bites_without_lease-epoch lease-epoch Q3)
tidemark_simulation_bites(bites_without_one-transaction one-transaction E3 2061)
tidemark_simulation_bites(bites_without_arrival arrival Q2 3471)
tidemark_simulation_bites(bites_without_sync sync "not quiet" 41)  # a job whose message was lost never ends
tidemark_simulation_bites(bites_without_notes notes I1)
tidemark_simulation_bites(bites_without_staleness staleness I)
tidemark_simulation_bites(bites_without_proof proof L1 1011)
tidemark_simulation_bites(bites_without_freshness freshness L2)
tidemark_simulation_bites(bites_without_epoch epoch Q)
tidemark_simulation_bites(bites_without_moments moments H1)
tidemark_simulation_bites(bites_without_steps steps T 331)
tidemark_simulation_bites(bites_without_rule-ids rule-ids R1)
tidemark_simulation_bites(bites_without_rule-place rule-place "not quiet" 1081)  # a job that is missing is waited for in vain
tidemark_simulation_bites(bites_without_record-epoch record-epoch W 51)
# Without the fence, former owners write rows of indexes; without the proof, queries miss changes that an index has not
# dealt with.
tidemark_simulation_bites(bites_indexes_without_fence fence I)
tidemark_simulation_bites(bites_queries_without_proof proof L2 51)
foreach(rule epoch fence)
  tidemark_simulation_test(blobs_bite_without_${rule} ONE_IN 3 --blobs --seeds 1..5000 --without ${rule} --expect B)
endforeach()
