#include "client/agent/agent_port.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <deque>
#include <memory>
#include <string>

#include "server/runtime/unix_socket.h"
#include "tests/testing/descriptor_limit.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::DescriptorLimit;
using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AgentPortTest : public ::testing::Test {
 protected:
  void Start(const std::string& listen) {
    auto port = AgentPort::Open(listen, 0600);
    ASSERT_THAT(port, IsOk());
    port_ = *std::move(port);
    grpc::ServerBuilder builder;
    port_->AddTo(builder);
    // Which has threads that read.
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    port_->Start();
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    port_->Stop();
    server_->Shutdown();
  }
  bool IsServed() const {
    const auto channel =
        grpc::CreateChannel(port_->address(), grpc::InsecureChannelCredentials());
    return channel->WaitForConnected(std::chrono::system_clock::now() +
                                     std::chrono::seconds(30));
  }

  const ScratchDirectory folder_;
  std::unique_ptr<AgentPort> port_;
  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AgentPortTest, ServesAtAHost) {
  Start("127.0.0.1:0");
  EXPECT_TRUE(IsServed());
}

TEST_F(AgentPortTest, ServesAtASocketWhoseFileGoesWithIt) {
  const std::string path = folder_.File("agent.sock");
  Start("unix:" + path);
  EXPECT_EQ(port_->address(), "unix:" + path);
  struct stat of {};
  ASSERT_EQ(stat(path.c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777, 0600U);
  EXPECT_TRUE(IsServed());
  port_->Stop();
  EXPECT_NE(stat(path.c_str(), &of), 0);
  port_->Stop();
}

TEST_F(AgentPortTest, WhatCannotBeHadIsRefused) {
  EXPECT_THAT(AgentPort::Open("unix:" + folder_.File("none/agent.sock"), 0600).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("listen: can't listen on unix:"),
                             HasSubstr("No such file or directory"))));
}

// As of trainers' processes that leak connections; gRPC's own listener would be deaf
// from then on.
TEST_F(AgentPortTest, ServesAgainOnceDescriptorsAreFree) {
  const std::string path = folder_.File("agent.sock");
  Start("unix:" + path);
  {
    const DescriptorLimit limit(100);
    std::deque<FileDescriptor> clients;
    for (;;) {
      absl::StatusOr<FileDescriptor> client = ConnectTo(path);
      // Of these there are none either.
      if (!client.ok()) break;
      clients.push_back(*std::move(client));
    }
    EXPECT_GT(clients.size(), 20U);
  }
  EXPECT_TRUE(IsServed());
}

}  // namespace
}  // namespace evenpack::agent
