tidemark_test(workers_test LABEL unit
  SOURCES unit/workers_retry_policy_test.cpp unit/workers_story_test.cpp unit/workers_side_by_side_test.cpp unit/workers_lease_test.cpp
    unit/workers_change_reader_test.cpp unit/workers_keeper_test.cpp
  LINK tidemark_workers tidemark_queue_server tidemark_memory_engine)
# Tests that use workers_fixture.h: workers on stores in memory. Tests of the indexes that they keep are a program of
# their own.
file(GLOB fixture_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/workers_*_test.cpp)
list(FILTER fixture_tests EXCLUDE REGEX "workers_(retry_policy|story|side_by_side|lease|change_reader|keeper|own_kinds)_test")
set(index_tests ${fixture_tests})
list(FILTER index_tests INCLUDE REGEX "workers_(blob_lists|denormalised|index|indexes)_")
list(REMOVE_ITEM fixture_tests ${index_tests})
set(workers_on_stores tidemark_workers tidemark_api tidemark_blob_server tidemark_queue_server tidemark_table_server tidemark_memory_engine)
tidemark_test(workers_archive_test LABEL unit COST 200 SOURCES ${fixture_tests} LINK ${workers_on_stores})
tidemark_test(workers_indexes_test LABEL unit COST 150 SOURCES ${index_tests} LINK ${workers_on_stores})
tidemark_test(workers_own_kinds_test LABEL unit SOURCES ${CMAKE_CURRENT_LIST_DIR}/workers_own_kinds_test.cpp LINK ${workers_on_stores})
