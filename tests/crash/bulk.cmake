# One bulk job against kill -9 of its workers; a million entities by hand, see bulk_kill.py.
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(bulk_kill_memory --any-memory)  # a sanitizer keeps what is freed
endif()
add_test(NAME crash_bulk_kill
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/bulk_kill.py --entities 30000 --per-second 3000 --kill-every 2 ${bulk_kill_memory})
set_tests_properties(crash_bulk_kill PROPERTIES LABELS crash TIMEOUT 400
  ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
