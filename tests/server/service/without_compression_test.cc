#include "server/service/without_compression.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/server/app/raw_grpc_client.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::RawGrpcCall;

// What a server answers whose health is asked for by a message that is compressed so.
grpc::Status Asked(grpc_compression_algorithm by, bool left_out) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  if (left_out) LeaveOutCompression(builder);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  // Which has threads that read.
  grpc::CallbackGenericService service;
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetCompressionAlgorithm(by);
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                grpc::InsecureChannelCredentials(), arguments);
  // Of a field that is passed over, so long that it pays to compress it.
  const std::string request = std::string("\x7a\xc8\x01", 3) + std::string(200, 'x');
  RawGrpcCall call(channel, "/grpc.health.v1.Health/Check", request);
  call.Read();
  return call.Finish();
}

TEST(WithoutCompressionTest, AServerInflatesNothingWhereItIsLeftOut) {
  EXPECT_TRUE(Asked(GRPC_COMPRESS_NONE, /*left_out=*/true).ok());
  for (const auto by : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    EXPECT_TRUE(Asked(by, /*left_out=*/false).ok());
    const grpc::Status refused = Asked(by, /*left_out=*/true);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(refused.error_message(), HasSubstr("is disabled"));
  }
}

}  // namespace
}  // namespace evenpack
