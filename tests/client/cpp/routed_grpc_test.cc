#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/scripted_service.h"
#include "tests/testing/status_matchers.h"

// routed_stub_test.cc over gRPC: with its words, and its channels.
namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScriptedServer;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Of sockets that nobody has made, and of a port that nobody listens on.
std::string DeadServers() {
  return absl::StrCat("unix:", ::testing::TempDir(), "nobody-1,127.0.0.1:1");
}

grpc::Status RedirectTo(const std::string& address) {
  google::rpc::ErrorInfo info;
  info.set_reason("LED_ELSEWHERE");
  info.set_domain("evenpack");
  (*info.mutable_metadata())["address"] = address;
  google::rpc::Status status;
  status.set_code(static_cast<int>(grpc::StatusCode::UNAVAILABLE));
  status.add_details()->PackFrom(info);
  return {grpc::StatusCode::UNAVAILABLE, "elsewhere", status.SerializeAsString()};
}

void HoldJob(ScriptedServer& server) {
  server.service().get_job = [](const auto& request, auto& response) {
    response.mutable_job()->set_name(request.name());
    return grpc::Status::OK;
  };
}

Client ConnectOnce(const std::string& address) {
  ClientOptions options{.address = address};
  // No attempt is made a second time.
  options.backoff.total = std::chrono::milliseconds(0);
  return *Client::Connect(options);
}

TEST(RoutedGrpc, OfThreeServersTwoMayBeGone) {
  ScriptedServer server;
  HoldJob(server);
  server.Start();
  Client client = ConnectOnce(absl::StrCat(DeadServers(), ",", server.address()));
  EXPECT_THAT(client.GetJob("run"), IsOk());
  server.Stop();
  EXPECT_THAT(client.GetJob("run"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(server.address())));
}

TEST(RoutedGrpc, WhereAllAreGoneTheErrorNamesThem) {
  EXPECT_THAT(ConnectOnce(DeadServers()).GetJob("run"),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("nobody-1"), HasSubstr("127.0.0.1:1"))));
}

TEST(RoutedGrpc, ARedirectIsFollowedOverAChannelOfItsOwn) {
  ScriptedServer leader;
  HoldJob(leader);
  leader.Start();
  ScriptedServer server;
  server.service().get_job = [&](const auto&, auto&) {
    return RedirectTo(leader.address());
  };
  server.Start();
  Client client = ConnectOnce(server.address());
  EXPECT_THAT(client.GetJob("run"), IsOk());
  server.Stop();
  EXPECT_THAT(client.GetJob("run"), IsOk());
}

}  // namespace
}  // namespace evenpack::client
