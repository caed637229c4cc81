#include "server/service/connection_hand_over.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string_view>

#include "server/web/listener.h"

namespace evenpack {
namespace {

class ConnectionHandOverTest : public ::testing::Test {
 protected:
  ConnectionHandOverTest() {
    grpc::ServerBuilder builder;
    // Which has threads that read.
    builder.RegisterCallbackGenericService(&service_);
    hand_over_ = std::make_unique<ConnectionHandOver>(
        builder, grpc::InsecureServerCredentials(), std::chrono::seconds(20));
    server_ = builder.BuildAndStart();
  }
  ~ConnectionHandOverTest() override { server_->Shutdown(); }

  static bool IsServed(const std::shared_ptr<grpc::Channel>& channel) {
    return channel->WaitForConnected(std::chrono::system_clock::now() +
                                     std::chrono::seconds(30));
  }

  grpc::CallbackGenericService service_;
  std::unique_ptr<ConnectionHandOver> hand_over_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ConnectionHandOverTest, AConnectionOverTcpIsServed) {
  Listener listener = Listener::Open({"127.0.0.1", 0}).value();
  const auto channel = grpc::CreateChannel(FormatAddress(listener.address()),
                                           grpc::InsecureChannelCredentials());
  channel->GetState(/*try_to_connect=*/true);
  FileDescriptor connection;
  while (!connection.valid()) connection = listener.Accept();
  hand_over_->Take(std::move(connection));
  EXPECT_TRUE(IsServed(channel));
}

TEST_F(ConnectionHandOverTest, SoIsOneOfTheFileSystem) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const FileDescriptor client(ends[0]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  hand_over_->Take(FileDescriptor(ends[1]));
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  ASSERT_EQ(write(client.get(), kPreface.data(), kPreface.size()), kPreface.size());
  // A frame of settings.
  std::array<char, 9> frame{};
  EXPECT_EQ(recv(client.get(), frame.data(), frame.size(), MSG_WAITALL), frame.size());
  EXPECT_EQ(frame[3], 4);
}

}  // namespace
}  // namespace evenpack
