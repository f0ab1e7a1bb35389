# One compilation policy for every target: warnings are errors, one precompiled header, ccache and mold when present.
find_program(CCACHE ccache)
if(CCACHE)
  # Several checkouts share compiled objects: paths are relative, and cmake/precompile names the header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_PCH_EXTSUM=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--as-needed)  # drops unused libraries of RocksDB's package, which the image lacks

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "Tidemark is built with clang 19 or later, which the presets choose: cmake --preset release")
endif()
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wthread-safety -Werror
                    -fno-omit-frame-pointer
                    -Wno-deprecated-declarations  # in a precompiled header libstdc++'s own exceptions are lost
                    -Xclang -fno-pch-timestamp -fpch-instantiate-templates  # the first for ccache
                    -ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)  # programs use parts of the libraries
# Boost.Asio and Beast are compiled once (common/base/asio_impl.cpp); all other sources see only declarations.
add_compile_definitions(BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
                        BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)  # the depth of nested coroutines in a request

# The precompiled header. CMake's own way puts the path of the checkout into every command, so ccache would find nothing
# again. Sources that are compiled with another optimisation need a header of their own.
function(tidemark_make_pch name source)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} PROPERTIES
    LANGUAGE CXX HEADER_FILE_ONLY OFF COMPILE_OPTIONS "-x;c++-header")
  add_library(${name}_object OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/${source})
  target_include_directories(${name}_object PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name}_object PRIVATE ${ARGN})
  set_target_properties(${name}_object PROPERTIES CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/precompile)
  set(header ${CMAKE_BINARY_DIR}/${name}.pch)
  add_custom_command(OUTPUT ${header} DEPENDS ${name}_object $<TARGET_OBJECTS:${name}_object>
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${name}_object>.sum ${header}.sum
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${name}_object> ${header})
  add_custom_target(${name} DEPENDS ${header})
endfunction()
function(tidemark_precompiled target name)
  add_dependencies(${target} ${name})
  target_compile_options(${target} PRIVATE ${ARGN} "SHELL:-include-pch ${CMAKE_BINARY_DIR}/${name}.pch" -Winvalid-pch)
endfunction()
tidemark_make_pch(precompiled_header common/base/pch.h)
# Unit tests are compiled more often than they are run: without optimisation, compiling takes a third of the time.
set(TIDEMARK_TEST_OPTIONS -O0)
if(TIDEMARK_TESTS)
  tidemark_make_pch(precompiled_header_of_tests tests/support/pch.h ${TIDEMARK_TEST_OPTIONS})
  target_link_libraries(precompiled_header_of_tests_object PRIVATE GTest::gmock)
endif()

# The sources of one folder are compiled as one: the cost of their headers is paid once, so a full build takes less than
# half of the time. Therefore a name must mean the same in all files of a folder. The presets dev and check compile each
# file alone, which reveals a missing include.
option(TIDEMARK_UNITY "Compile the sources of one folder together" ON)
function(tidemark_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TIDEMARK_UNITY} UNITY_BUILD_MODE GROUP)
  set(folders)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders ${folder})
  endforeach()
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source)
    if(EXISTS ${source})  # generated sources are compiled alone
      cmake_path(GET source PARENT_PATH folder)
      set(together ${folders})
      list(FILTER together INCLUDE REGEX "^${folder}$")
      list(LENGTH together count)
      if(count EQUAL 1)  # alone in its folder: grouped with the parent folder
        cmake_path(GET folder PARENT_PATH folder)
      endif()
      string(REPLACE "${PROJECT_SOURCE_DIR}" "" group "${folder}")  # the same name in every checkout, for ccache
      if(group STREQUAL "")
        set(group /top)
      endif()
      string(MAKE_C_IDENTIFIER "${group}" group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

# tidemark_headers(target VISIBILITY folder...): code that includes headers of these folders must link the target. The
# headers are found through a folder of links to them, each library's own, so the header of a library that is not linked
# is not found.
function(tidemark_headers target visibility)
  set(root ${CMAKE_BINARY_DIR}/include/${target})
  file(REMOVE_RECURSE ${root})
  foreach(folder ${ARGN})
    cmake_path(ABSOLUTE_PATH folder NORMALIZE)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE place)
    cmake_path(GET place PARENT_PATH parent)
    file(MAKE_DIRECTORY ${root}/${parent})
    file(CREATE_LINK ${folder} ${root}/${place} SYMBOLIC)
  endforeach()
  target_include_directories(${target} ${visibility} ${root})
endfunction()

# tidemark_library(name FOLDERS ... SOURCES ... [APART ...] LINK ...): a static library of these folders, or of the
# current one. The sources under APART are compiled each alone: programs that need only these are not linked with the
# dependencies of the others, and programs that do not need them do not have their fail points.
function(tidemark_library name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;SOURCES;APART;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_APART})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  tidemark_headers(${name} PUBLIC ${ARG_FOLDERS})
  tidemark_precompiled(${name} precompiled_header)
  tidemark_unity(${name} ${ARG_SOURCES})
  foreach(source ${ARG_APART})
    set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# tidemark_inline_less(target...): most of a build is the optimiser's work on inlined code. At this threshold it takes a
# third less time. Jobs run no slower (bench/run --only job-archive,job-bulk), but a tenth of the stores' speed would be
# lost.
function(tidemark_inline_less)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -inline-threshold=40")
  endforeach()
endfunction()

# With glibc, the allocator takes a quarter of a small request's time. Sanitizers bring their own allocator.
find_library(MIMALLOC mimalloc)
set(TIDEMARK_ALLOCATOR)
if(MIMALLOC AND NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(TIDEMARK_ALLOCATOR -Wl,--push-state,--no-as-needed ${MIMALLOC} -Wl,--pop-state)
endif()

# tidemark_program(name SOURCES ... LINK ...): one executable, wiring only.
function(tidemark_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} ${TIDEMARK_ALLOCATOR})
  tidemark_precompiled(${name} precompiled_header)
  tidemark_unity(${name} ${ARG_SOURCES})
endfunction()
