#include "server/app/health_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "server/core/document/invalid_field.h"
#include "server/runtime/file_descriptor.h"
#include "server/web/listen_address.h"
#include "tests/server/app/raw_grpc_client.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/descriptor_limit.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using testing::DescriptorLimit;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawClient;
using testing::RawGrpcCall;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
// grpc.health.v1.HealthCheckRequest.service, and HealthCheckResponse.status.
constexpr char kOfWork[] = "\x0a\x04work";
constexpr char kIsServing[] = "\x08\x01";
constexpr char kIsNotServing[] = "\x08\x02";

TEST(HealthPortTest, EachServiceIsAsItWasSet) {
  HealthPort port;
  ASSERT_THAT(port.Start("127.0.0.1:0"), IsOk());
  const auto channel =
      grpc::CreateChannel(port.address(), grpc::InsecureChannelCredentials());
  port.SetServing("", true);
  port.SetServing("work", false);
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, "").Read(), kIsServing);
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, kOfWork).Read(), kIsNotServing);
  port.SetServing("work", true);
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, kOfWork).Read(), kIsServing);
  port.Close();
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, "").Finish().error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

// gRPC's own listener would be deaf from then on.
TEST(HealthPortTest, ServesAgainOnceDescriptorsAreFree) {
  HealthPort port;
  ASSERT_THAT(port.Start("127.0.0.1:0"), IsOk());
  port.SetServing("", true);
  const auto number = ParseListenAddress(port.address())->port;
  {
    const DescriptorLimit limit(128);
    std::deque<RawClient> clients;
    while (clients.empty() || clients.back().connected()) clients.emplace_back(number);
    EXPECT_GT(clients.size(), 20U);
  }
  const auto channel =
      grpc::CreateChannel(port.address(), grpc::InsecureChannelCredentials());
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, "").Read(), kIsServing);
  port.Close();
}

TEST(HealthPortTest, ServesWhileTheOtherPortsAreFull) {
  HealthPort port;
  ASSERT_THAT(port.Start("127.0.0.1:0"), IsOk());
  port.SetServing("", true);
  constexpr int kDescriptors = 256;
  const DescriptorLimit limit(kDescriptors);
  // Those take a descriptor below 224.
  std::vector<FileDescriptor> taken;
  while (taken.empty() || taken.back().get() < kDescriptors - 29) {
    taken.emplace_back(open("/dev/null", O_RDONLY));
    ASSERT_TRUE(taken.back().valid());
  }
  const auto channel =
      grpc::CreateChannel(port.address(), grpc::InsecureChannelCredentials());
  EXPECT_EQ(RawGrpcCall(channel, kHealthCheck, "").Read(), kIsServing);
  port.Close();
}

TEST(HealthPortTest, OneThatWasNotStartedDoesNothing) {
  HealthPort port;
  port.SetServing("", true);
  EXPECT_EQ(port.address(), "");
  port.Close();
}

TEST(HealthPortTest, AnAddressThatCannotBeHadIsNamed) {
  HealthPort first;
  ASSERT_THAT(first.Start("127.0.0.1:0"), IsOk());
  EXPECT_THAT(
      HealthPort().Start(first.address()),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(StartsWith("health-listen: "), HasSubstr(first.address()),
                     HasSubstr(": Address already in use; accepted: HOST:PORT"))));
  const absl::Status wrong = HealthPort().Start("nowhere");
  EXPECT_THAT(wrong,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nowhere")));
  EXPECT_EQ(RefusedField(wrong), "health-listen");
}

}  // namespace
}  // namespace evenpack
