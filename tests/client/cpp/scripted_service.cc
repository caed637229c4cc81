#include "tests/client/cpp/scripted_service.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>

namespace evenpack::testing {
namespace {

// Unused by any other server of any test program that runs now.
std::string NewSocketPath() {
  static int servers = 0;
  return ::testing::TempDir() + "evenpack-client-" + std::to_string(getpid()) + "-" +
         std::to_string(++servers);
}

}  // namespace

ScriptedServer::ScriptedServer() : path_(NewSocketPath()), address_("unix:" + path_) {}

void ScriptedServer::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(INT_MAX);
  builder.SetMaxSendMessageSize(INT_MAX);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr) << address_;
}

void ScriptedServer::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  unlink(path_.c_str());
}

}  // namespace evenpack::testing
