#include "server/app/call_counting.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/mutex.h"
#include "tests/server/app/raw_grpc_client.h"

namespace evenpack {
namespace {

using grpc::experimental::ServerInterceptorFactoryInterface;
using testing::RawGrpcCall;
using ::testing::StartsWith;

class CallCountingTest : public ::testing::Test {
 protected:
  void Start(CountsOfPeer counts_of) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(CountCalls(std::move(counts_of)));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  void AwaitOpen(int64_t calls) const {
    while (counts_->open != calls) poll(nullptr, 0, 1);
  }

  const std::shared_ptr<CallCounts> counts_ = std::make_shared<CallCounts>();
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(CallCountingTest, ACallAndItsMessageArriveAndItIsOpenUntilItEnds) {
  Mutex mutex;
  std::string peer;
  Start([&](const std::string& of) {
    MutexLock lock(mutex);
    peer = of;
    return counts_;
  });
  {
    RawGrpcCall watch(channel_, "/grpc.health.v1.Health/Watch", "");
    ASSERT_TRUE(watch.Read().has_value());
    EXPECT_EQ(counts_->open, 1);
    EXPECT_EQ(counts_->arrivals, 2U);
    RawGrpcCall check(channel_, "/grpc.health.v1.Health/Check", "");
    ASSERT_TRUE(check.Read().has_value());
    EXPECT_TRUE(check.Finish().ok());
    AwaitOpen(1);
    EXPECT_EQ(counts_->arrivals, 4U);
  }
  AwaitOpen(0);
  MutexLock lock(mutex);
  EXPECT_THAT(peer, StartsWith("ipv4:127.0.0.1:"));
}

TEST_F(CallCountingTest, CallsOfAPeerWithoutCountsAreServed) {
  Start([](const std::string&) { return nullptr; });
  RawGrpcCall check(channel_, "/grpc.health.v1.Health/Check", "");
  EXPECT_TRUE(check.Read().has_value());
  EXPECT_TRUE(check.Finish().ok());
}

}  // namespace
}  // namespace evenpack
