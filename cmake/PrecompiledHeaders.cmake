# The headers that many sources read, compiled once for all of them: a third of the
# compilation of a library, and more of a test's. A source still includes what it uses:
# clang-tidy reads it without them.
#
# Each set is a target that evenpack_library and evenpack_test take by its name. There is
# one for each set of options, since a compiler takes headers that were compiled with its
# own options alone: gRPC's targets bring -pthread along, and tests are compiled faster.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/precompiled.cc" CONTENT "")

function(evenpack_precompiled)
  cmake_parse_arguments(ARG "" "NAME" "DEPS;HEADERS" ${ARGN})
  set(target evenpack_precompiled_${ARG_NAME})
  add_library(${target} OBJECT "${CMAKE_BINARY_DIR}/precompiled.cc")
  target_link_libraries(${target} PRIVATE
    evenpack_options absl::statusor absl::strings ${ARG_DEPS})
  target_precompile_headers(${target} PRIVATE
    <absl/status/statusor.h> <absl/strings/str_cat.h> <algorithm>
    <condition_variable> <cstdint> <deque> <functional> <map> <memory> <mutex>
    <numeric> <optional> <span> <string> <thread> <variant> <vector>
    ${ARG_HEADERS})
  # The same bytes whenever they are compiled, or ccache would know none of what uses
  # them.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

function(evenpack_precompiled_for_tests)
  cmake_parse_arguments(ARG "" "NAME" "DEPS;HEADERS" ${ARGN})
  evenpack_precompiled(NAME ${ARG_NAME}
    DEPS GTest::gmock ${ARG_DEPS}
    HEADERS <filesystem> <fstream> <gmock/gmock.h> <gtest/gtest.h> <random> ${ARG_HEADERS})
  evenpack_compile_as_test(evenpack_precompiled_${ARG_NAME})
endfunction()

set(api_headers <evenpack/v1/cost_profile.pb.h> <evenpack/v1/packing_service.pb.h>
    <nlohmann/json.hpp>)
set(grpc_headers <grpcpp/grpcpp.h> <evenpack/v1/cost_profile.grpc.pb.h>
    <evenpack/v1/packing_service.grpc.pb.h>)

evenpack_precompiled(NAME library)
evenpack_compile_as_shared(evenpack_precompiled_library)
if(EVENPACK_GRPC OR EVENPACK_PYTHON)
  evenpack_precompiled(NAME api DEPS evenpack::proto HEADERS ${api_headers})
  evenpack_compile_as_shared(evenpack_precompiled_api)
endif()
if(EVENPACK_GRPC)
  evenpack_precompiled(NAME grpc DEPS evenpack::grpc HEADERS ${grpc_headers})
  evenpack_compile_as_shared(evenpack_precompiled_grpc)
endif()
if(EVENPACK_TESTS)
  evenpack_precompiled_for_tests(NAME test)
  if(EVENPACK_GRPC)
    evenpack_precompiled_for_tests(NAME api_test
      DEPS evenpack::proto HEADERS ${api_headers})
    evenpack_precompiled_for_tests(NAME grpc_test
      DEPS evenpack::grpc HEADERS ${grpc_headers})
  endif()
endif()
