# The checker of histories, its tests, and the clients of real stores whose histories it judges (README.md).
tidemark_library(tidemark_histories
  FOLDERS ${CMAKE_CURRENT_LIST_DIR}
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/history.cpp ${CMAKE_CURRENT_LIST_DIR}/messages.cpp ${CMAKE_CURRENT_LIST_DIR}/registers.cpp
          ${CMAKE_CURRENT_LIST_DIR}/sessions.cpp
  LINK tidemark_base)
tidemark_test(histories_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/registers_test.cpp ${CMAKE_CURRENT_LIST_DIR}/messages_test.cpp
  LINK tidemark_histories)

tidemark_program(histories_client
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/client.cpp ${CMAKE_CURRENT_LIST_DIR}/clients.cpp
          ${CMAKE_CURRENT_LIST_DIR}/blob_clients.cpp ${CMAKE_CURRENT_LIST_DIR}/entity_clients.cpp
          ${CMAKE_CURRENT_LIST_DIR}/http_connection.cpp ${CMAKE_CURRENT_LIST_DIR}/message_clients.cpp
  LINK tidemark_histories nlohmann_json::nlohmann_json)
foreach(set_up embedded shards postgres shared)
  tidemark_python_test(histories_${set_up} LABEL histories TIMEOUT 600
    SCRIPT ${CMAKE_CURRENT_LIST_DIR}/histories_test.py ARGS ${set_up})
endforeach()
tidemark_python_test(histories_replicated NIGHT LABEL histories TIMEOUT 600
  SCRIPT ${CMAKE_CURRENT_LIST_DIR}/histories_test.py ARGS replicated)
