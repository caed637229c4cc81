# What the Python module links, and nothing else: no gRPC, which is grpcio's part there,
# and none of what only a server needs.
set(EVENPACK_GRPC OFF)
set(EVENPACK_TESTS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_package(absl REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
find_package(spdlog REQUIRED)
find_package(Threads REQUIRED)

add_subdirectory(proto)
include(PrecompiledHeaders)
add_subdirectory(server/core)
add_subdirectory(server/runtime)
add_subdirectory(server/payload)
add_subdirectory(server/sessions)
add_subdirectory(server/service)
add_subdirectory(client/cpp)

# The worker's part is a module of its own: a trainer that uses other attention needs
# neither library.
find_package(OpenBLAS QUIET)
find_package(Gloo QUIET)
if(NOT OpenBLAS_FOUND OR NOT Gloo_FOUND)
  message(STATUS "OpenBLAS or Gloo: not found; the Python package has no attention")
  return()
endif()
include(CudaToolkit)
set(room_parts attention communicator device cuda cudnn nccl rank_form rendezvous
    executor steps arena device_arena attach sidecar_client)
foreach(part IN LISTS room_parts)
  add_subdirectory(gpu_worker/${part})
endforeach()
