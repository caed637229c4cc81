#include "server/service/without_reflection.h"

#include <gmock/gmock.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/server/app/raw_grpc_client.h"

namespace evenpack {
namespace {

using testing::RawGrpcCall;

// Whether a server that has no services but gRPC's own lists them.
bool HasReflection(bool left_out) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (left_out) LeaveOutReflection(builder);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  // Which has threads that read.
  grpc::CallbackGenericService service;
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                           grpc::InsecureChannelCredentials());
  const bool answered =
      RawGrpcCall(channel,
                  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                  std::string("\x3a\x00", 2))
          .Read()
          .has_value();
  server->Shutdown(std::chrono::system_clock::now());
  return answered;
}

TEST(WithoutReflectionTest, AServerHasItUnlessItIsLeftOut) {
  EXPECT_TRUE(HasReflection(/*left_out=*/false));
  EXPECT_FALSE(HasReflection(/*left_out=*/true));
}

}  // namespace
}  // namespace evenpack
