tidemark_test(workers_test LABEL unit
  SOURCES unit/workers_retry_policy_test.cpp unit/workers_story_test.cpp unit/workers_index_pieces_test.cpp unit/workers_side_by_side_test.cpp
  LINK tidemark_workers)
target_compile_options(workers_test PRIVATE -Wno-mismatched-new-delete)
tidemark_test(workers_archive_test LABEL unit
  SOURCES unit/workers_archive_test.cpp unit/workers_batch_test.cpp unit/workers_kinds_test.cpp unit/workers_schedule_test.cpp
    unit/workers_objects_test.cpp unit/workers_offload_test.cpp
  LINK tidemark_workers)
target_compile_options(workers_archive_test PRIVATE -Wno-mismatched-new-delete)
