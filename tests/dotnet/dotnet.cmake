# .NET SDKs of three generations, and frameworks, against the real stores. Each project is one ctest entry.
# tidemark_dotnet_test(name project [ARGUMENTS ...] and the arguments of tidemark_add_test)
function(tidemark_dotnet_test name project)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "ARGUMENTS")
  tidemark_add_test(dotnet_${name} LABEL dotnet ONE_IN 4 TIMEOUT 1200 ${ARG_UNPARSED_ARGUMENTS}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run_dotnet_tests.py ${project} ${CMAKE_BINARY_DIR}/tests/dotnet ${ARG_ARGUMENTS})
endfunction()
tidemark_dotnet_test(tables Tables COST 60)
tidemark_dotnet_test(blobs_and_queues BlobsAndQueues COST 60)
tidemark_dotnet_test(hosting Hosting COST 20)
tidemark_dotnet_test(orleans Orleans COST 60)
tidemark_dotnet_test(orleans_storm Orleans NIGHT COST 120 ARGUMENTS --storm)
tidemark_dotnet_test(functions Functions COST 60)
tidemark_dotnet_test(functions_timers Legacy/Timers COST 30)
# WebJobs hosts while stores are killed, and functions that run longer than a message is taken for.
tidemark_dotnet_test(functions_kills Functions NIGHT SERIAL ARGUMENTS -trait Night=kills)
tidemark_dotnet_test(functions_long Functions NIGHT COST 660 ARGUMENTS -trait Night=long)
foreach(project Cosmos Windows Storage11)
  string(TOLOWER ${project} suite)
  tidemark_dotnet_test(legacy_${suite} Legacy/${project} COST 40)
endforeach()
tidemark_dotnet_test(durable_task DurableTask COST 60)
# Orchestrations while stores are killed.
tidemark_dotnet_test(durable_task_kills DurableTask NIGHT SERIAL ARGUMENTS -trait Night=*)
# The program of docs/clients.md.
tidemark_dotnet_test(clients Clients COST 30)
# The application in examples/dotnet.
tidemark_add_test(dotnet_example LABEL dotnet ONE_IN 4 TIMEOUT 1200 COST 40
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/example_test.py ${CMAKE_BINARY_DIR}/tests/dotnet/example)
