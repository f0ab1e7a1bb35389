# The blob store against kill -9 at every fail point and at random. One entry per class: each has a stack of its own.
foreach(blob_case FailPointTest RandomKillTest SnapshotsTest DeletionTest)
  add_test(NAME crash_blob_${blob_case}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/blob_crash_test.py ${blob_case})
  set_tests_properties(crash_blob_${blob_case} PROPERTIES LABELS crash TIMEOUT 400
    ENVIRONMENT "TIDEMARK_BIN=${CMAKE_BINARY_DIR}/bin;TIDEMARK_SOURCE=${PROJECT_SOURCE_DIR}")
endforeach()
