# How every target of this project is compiled, and the three functions that
# declare one: evenpack_library, evenpack_program, evenpack_test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(EVENPACK_CCACHE ccache)
if(EVENPACK_CCACHE)
  # Or it would keep nothing that is compiled with precompiled headers. No source asks
  # for the time of its compilation. What was compiled in one clone is taken in another.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" "${EVENPACK_CCACHE}")
endif()

add_library(evenpack_options INTERFACE)
target_include_directories(evenpack_options INTERFACE "${PROJECT_SOURCE_DIR}")
# For a project that has this one as a part of it: the headers need it.
target_compile_features(evenpack_options INTERFACE cxx_std_20)
# -ffp-contract=off: cost tables are resolved in double precision, and a fused
# multiply-add on one machine but not on another would change an integer in them.
set(EVENPACK_OWN_OPTIONS -Wall -Wextra -Wconversion -Wshadow -ffp-contract=off)
if(EVENPACK_WERROR)
  list(APPEND EVENPACK_OWN_OPTIONS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND EVENPACK_OWN_OPTIONS -Wthread-safety)
endif()
# Such a project's own sources are compiled as it likes.
set(EVENPACK_IS_OWN
  "$<PATH:IS_PREFIX,${PROJECT_SOURCE_DIR},$<TARGET_PROPERTY:SOURCE_DIR>>")
target_compile_options(evenpack_options INTERFACE
  "$<${EVENPACK_IS_OWN}:${EVENPACK_OWN_OPTIONS}>")
if(EVENPACK_SANITIZE)
  target_compile_options(evenpack_options INTERFACE
    -fsanitize=${EVENPACK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(evenpack_options INTERFACE -fsanitize=${EVENPACK_SANITIZE})
endif()

# What a shared library (gpu_worker/c_api) may hold, and what is compiled with the headers
# of that. Nobody interposes a function of it, so that it is inlined as in a program.
function(evenpack_compile_as_shared TARGET)
  if(EVENPACK_GRPC)
    target_compile_options(${TARGET} PRIVATE -fPIC -fno-semantic-interposition)
  endif()
endfunction()

# evenpack_library(NAME name SOURCES ... DEPS ... [PRECOMPILED set]): a static library,
# linked as evenpack::name. PRECOMPILED: see PrecompiledHeaders; default: library.
function(evenpack_library)
  cmake_parse_arguments(ARG "" "NAME;PRECOMPILED" "SOURCES;DEPS" ${ARGN})
  add_library(evenpack_${ARG_NAME} STATIC ${ARG_SOURCES})
  add_library(evenpack::${ARG_NAME} ALIAS evenpack_${ARG_NAME})
  target_link_libraries(evenpack_${ARG_NAME} PUBLIC evenpack_options ${ARG_DEPS})
  evenpack_compile_as_shared(evenpack_${ARG_NAME})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED library)
  endif()
  target_precompile_headers(evenpack_${ARG_NAME}
    REUSE_FROM evenpack_precompiled_${ARG_PRECOMPILED})
endfunction()

# Sources that are never compiled with others as one: g++ takes a class with members of
# an unnamed namespace's types for a mistake where the class is not in the file that it
# was given.
function(evenpack_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# evenpack_program(NAME name SOURCES ... DEPS ...): an executable in bin/.
function(evenpack_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE evenpack_options ${ARG_DEPS})
endfunction()

# A test's own code runs once: a third of its compilation, or under sanitizers half, is
# worth more than its speed. What is tested stays as it is released.
function(evenpack_compile_as_test TARGET)
  target_compile_options(${TARGET} PRIVATE -O0)
endfunction()

# evenpack_test(NAME name SOURCES ... DEPS ... [PRECOMPILED set] [PROPERTIES ...]): a
# GoogleTest program; each of its cases is a test of CTest, or with
# EVENPACK_TESTS_BY_PROGRAM all of them are one. Files of the repository are found by
# tests/testing/source_file.h. PRECOMPILED: default: test. PROPERTIES: more of them for
# each test.
function(evenpack_test)
  cmake_parse_arguments(ARG "" "NAME;PRECOMPILED" "SOURCES;DEPS;PROPERTIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${ARG_NAME} PRIVATE
    evenpack_options ${ARG_DEPS} evenpack_source_file GTest::gmock_main)
  evenpack_compile_as_test(${ARG_NAME})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED test)
  endif()
  target_precompile_headers(${ARG_NAME}
    REUSE_FROM evenpack_precompiled_${ARG_PRECOMPILED})
  if(EVENPACK_SANITIZE STREQUAL "thread")
    target_sources(${ARG_NAME} PRIVATE
      "${PROJECT_SOURCE_DIR}/tests/testing/tsan_suppressions.cc")
  endif()
  if(EVENPACK_TESTS_BY_PROGRAM)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} --gtest_brief=1)
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT 1800 ${ARG_PROPERTIES})
  else()
    gtest_discover_tests(${ARG_NAME} DISCOVERY_TIMEOUT 120
      PROPERTIES TIMEOUT 300 ${ARG_PROPERTIES})
  endif()
endfunction()
