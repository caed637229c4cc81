#include "server/app/grpc_port.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/app/raw_grpc_client.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawClient;
using testing::RawGrpcCall;
using testing::StatusIs;

// Of the process, until the test ends.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t descriptors) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lowered{descriptors, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class GrpcPortTest : public ::testing::Test {
 protected:
  void Start(const std::string& host) {
    grpc::EnableDefaultHealthCheckService(true);
    auto port = GrpcPort::Open({host, 0}, {});
    ASSERT_THAT(port, IsOk());
    port_ = *std::move(port);
    grpc::ServerBuilder builder;
    port_->AddTo(builder, grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    port_->Start();
  }
  void TearDown() override {
    if (port_ != nullptr) port_->Stop();
    if (server_ != nullptr) server_->Shutdown();
  }

  // Over a connection of its own.
  grpc::StatusCode Ask(const std::string& host = "127.0.0.1") const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(absl::StrCat(host, ":", port_->port()),
                                  grpc::InsecureChannelCredentials(), arguments);
    RawGrpcCall call(channel, "/grpc.health.v1.Health/Check", "");
    call.Read();
    return call.Finish().error_code();
  }

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GrpcPort> port_;
};

TEST_F(GrpcPortTest, ConnectionsAreServedUntilItStops) {
  Start("127.0.0.1");
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
  const uint16_t port = port_->port();
  port_->Stop();
  port_->Stop();
  EXPECT_FALSE(RawClient(port).connected());
}

TEST_F(GrpcPortTest, APeerIsCutByItsNameAndNoOther) {
  for (const char* host : {"127.0.0.1", "0.0.0.0"}) {
    Start(host);
    {
      const RawClient hostile(port_->port());
      const RawClient other(port_->port());
      for (const RawClient* client : {&hostile, &other}) {
        client->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        // Its first bytes: it was handed over.
        EXPECT_EQ(client->Receive(9).size(), 9U) << host;
      }
      port_->Cut("ipv4:127.0.0.1:1");
      port_->Cut(absl::StrCat("ipv4:127.0.0.1:", hostile.local_port()));
      hostile.ReceiveAll();
      EXPECT_EQ(other.Receive(1).size(), 1U) << host;
    }
    TearDown();
  }
}

TEST_F(GrpcPortTest, NamesAndWildcardsAreAllTheirAddresses) {
  for (const char* host : {"localhost", "0.0.0.0"}) {
    Start(host);
    EXPECT_EQ(Ask(), grpc::StatusCode::OK) << host;
    EXPECT_EQ(Ask("localhost"), grpc::StatusCode::OK) << host;
    TearDown();
  }
}

TEST_F(GrpcPortTest, APortThatIsTakenIsRefused) {
  Start("127.0.0.1");
  EXPECT_THAT(
      GrpcPort::Open({"127.0.0.1", port_->port()}, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("can't listen on")));
}

TEST_F(GrpcPortTest, ThoseThatTakeTheLastDescriptorsAreClosedAndLaterOnesServed) {
  Start("127.0.0.1");
  {
    const DescriptorLimit limit(128);
    std::deque<RawClient> clients;
    // Each takes two here, where both ends are.
    while (clients.size() < 64) {
      RawClient& client = clients.emplace_back(port_->port());
      ASSERT_TRUE(client.connected());
      // gRPC's settings, or nothing.
      client.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      if (client.Receive(1).empty()) break;
    }
    EXPECT_GT(clients.size(), 8U);
    EXPECT_LT(clients.size(), 64U);
  }
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace evenpack
