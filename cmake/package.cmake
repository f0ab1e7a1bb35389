# The Debian package: cpack -G DEB --config build/release/CPackConfig.cmake, after the programs are built. It packs the
# built programs and builds nothing.
set(package ${PROJECT_SOURCE_DIR}/cmake/package)
set(package_made ${CMAKE_BINARY_DIR}/package)
set(package_units lib/systemd/system)

install(TARGETS table_store queue_service blob_store worker api DESTINATION lib/tidemark COMPONENT tidemark)
install(TARGETS tidemark DESTINATION bin COMPONENT tidemark)

# tidemark_unit(UNIT PROGRAM START_LIMIT AFTER SUMMARY COMMAND): one process as a unit of systemd, and its manual.
function(tidemark_unit PROCESS_UNIT PROCESS_MANUAL PROCESS_START_LIMIT PROCESS_AFTER PROCESS_SUMMARY)
  string(JOIN " " PROCESS_COMMAND ${PROCESS_MANUAL} ${ARGN})
  configure_file(${package}/process.service.in ${package_made}/${PROCESS_UNIT} @ONLY)
  install(FILES ${package_made}/${PROCESS_UNIT} DESTINATION ${package_units} COMPONENT tidemark)
endfunction()
set(stores tidemark-table-store.service tidemark-queue-service.service tidemark-blob-store.service)
string(JOIN " " stores ${stores})
# A database that has much to replay may take its time. A worker is ready before the stores answer.
tidemark_unit(tidemark-table-store.service table_store 15min "" "the table store")
tidemark_unit(tidemark-queue-service.service queue_service 15min "" "the queue service")
tidemark_unit(tidemark-blob-store.service blob_store 15min "" "the blob store")
tidemark_unit(tidemark-api.service api 15min "${stores}" "the api for jobs and poison messages")
tidemark_unit(tidemark-worker@.service worker 90s "${stores}" "worker %i" --name worker-%i)

install(FILES ${package}/tidemark.target DESTINATION ${package_units} COMPONENT tidemark)
install(FILES ${package}/tidemark.sysusers DESTINATION lib/sysusers.d RENAME tidemark.conf COMPONENT tidemark)
install(FILES ${package}/tidemark.json DESTINATION /etc/tidemark COMPONENT tidemark)
install(FILES ${package}/copyright README.md DESTINATION share/doc/tidemark COMPONENT tidemark)
install(DIRECTORY docs/ DESTINATION share/doc/tidemark COMPONENT tidemark FILES_MATCHING PATTERN "*.md")

# The manuals and the completion are made from the programs' own help.
install(CODE "
  execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${package}/made_by_programs ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share)" COMPONENT tidemark)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tidemark)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # /etc belongs to the package, not to this machine
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};tidemark;/")
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VENDOR Tidemark)
set(CPACK_PACKAGE_CONTACT "Tidemark <tidemark@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, ca-certificates, tzdata")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "tables, queues and blobs that speak the Azure Storage protocols
 Tidemark stores tables, queues and blobs, and carries out jobs that keep data consistent across partitions, tables and
 blobs. The Azure SDKs work with it. It runs as one service for each of its processes, which tidemark.target groups.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${package_made}/conffiles "/etc/tidemark/tidemark.json\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${package}/postinst ${package}/prerm ${package}/postrm ${package_made}/conffiles)
include(CPack)
