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
add_subdirectory(server/sessions)
add_subdirectory(server/service)
add_subdirectory(client/cpp)
