# The stack in one process under a seeded scheduler. Further tests prove that it notices when a rule is taken out.
set(simulation_directory ${CMAKE_CURRENT_LIST_DIR})
set(simulation_sources
  ${simulation_directory}/blob_oracle.cpp ${simulation_directory}/blob_people.cpp ${simulation_directory}/blob_world.cpp
  ${simulation_directory}/callback_oracle.cpp ${simulation_directory}/client_hosts.cpp
  ${simulation_directory}/endpoint.cpp ${simulation_directory}/faults.cpp ${simulation_directory}/index_oracle.cpp
  ${simulation_directory}/lookup_oracle.cpp ${simulation_directory}/lookups.cpp ${simulation_directory}/main.cpp ${simulation_directory}/network.cpp
  ${simulation_directory}/plan.cpp ${simulation_directory}/queue_oracle.cpp ${simulation_directory}/scheduler.cpp
  ${simulation_directory}/shared_database.cpp ${simulation_directory}/shared_owners.cpp
  ${simulation_directory}/store_hosts.cpp ${simulation_directory}/table_oracle.cpp ${simulation_directory}/trace.cpp
  ${simulation_directory}/watched_engine.cpp ${simulation_directory}/world.cpp)
add_executable(simulation_test ${simulation_sources})
tidemark_unity(simulation_test ${simulation_sources})
target_link_libraries(simulation_test PRIVATE tidemark_workers tidemark_queue_server tidemark_table_server
                                              tidemark_blob_server tidemark_memory_engine)
tidemark_precompiled(simulation_test precompiled_header)

# A sanitizer makes each seed ten times slower.
set(simulation_seeds 1000)
set(simulation_blob_seeds 500)
set(simulation_limit 900)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(simulation_seeds 200)
  set(simulation_blob_seeds 100)
  set(simulation_limit 1800)
endif()
add_test(NAME simulation_seeds COMMAND simulation_test --seeds 1..${simulation_seeds})
add_test(NAME simulation_repeats_exactly COMMAND simulation_test --seeds 1..20 --twice)
add_test(NAME simulation_blobs COMMAND simulation_test --blobs --seeds 1..${simulation_blob_seeds})
set(simulation_tests simulation_seeds simulation_repeats_exactly simulation_blobs)
foreach(rule epoch fence)
  add_test(NAME simulation_blobs_bite_without_${rule} COMMAND simulation_test --blobs --seeds 1..5000 --without ${rule} --expect B)
  list(APPEND simulation_tests simulation_blobs_bite_without_${rule})
endforeach()
set(broken_by_etag-guard A3)
set(broken_by_fence A4)
set(broken_by_put-if-newer A2)
set(broken_by_lease-epoch Q3)
set(broken_by_one-transaction E3)
set(broken_by_arrival Q2)
set(broken_by_sync "not quiet")  # a job whose message was lost never ends
# They end with the first seed that shows it; some of these crashes are rare.
set(broken_by_notes I1)
set(broken_by_staleness I)
set(broken_by_proof L1)
set(broken_by_freshness L2)
set(broken_by_epoch Q)
# The first seeds that show these are far from the beginning.
set(first_seed_put-if-newer 251)
set(first_seed_one-transaction 1251)
set(first_seed_arrival 2851)
set(first_seed_proof 151)
foreach(rule etag-guard fence put-if-newer lease-epoch one-transaction arrival epoch sync notes staleness proof freshness)
  set(first_seed 1)
  if(DEFINED first_seed_${rule})
    set(first_seed ${first_seed_${rule}})
  endif()
  add_test(NAME simulation_bites_without_${rule}
    COMMAND simulation_test --seeds ${first_seed}..5000 --without ${rule} --expect "${broken_by_${rule}}")
  list(APPEND simulation_tests simulation_bites_without_${rule})
endforeach()
# The same rule also keeps former owners from the rows of indexes.
add_test(NAME simulation_bites_indexes_without_fence COMMAND simulation_test --seeds 1..5000 --without fence --expect I)
list(APPEND simulation_tests simulation_bites_indexes_without_fence)
# The same rule also has queries see what an index has not dealt with.
add_test(NAME simulation_bites_queries_without_proof
  COMMAND simulation_test --seeds 51..5000 --without proof --expect L2)
list(APPEND simulation_tests simulation_bites_queries_without_proof)
set_tests_properties(${simulation_tests} PROPERTIES LABELS simulation TIMEOUT ${simulation_limit})
