#include "server/service/peer.h"

#include <gmock/gmock.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.grpc.pb.h"

namespace evenpack {
namespace {

TEST(PeerTest, AnAddressIsAHostInOneFormWithoutItsPort) {
  struct {
    std::string address;
    std::string peer;
  } const cases[] = {
      {"ipv4:10.1.2.3:4711", "10.1.2.3"},
      {"ipv4:10.1.2.3:4712", "10.1.2.3"},
      {"ipv6:%5B::1%5D:4711", "::1"},
      {"ipv6:[::1]:4711", "::1"},
      {"ipv6:%5B2001:DB8:0:0:0:0:0:1%5D:4711", "2001:db8::1"},
      {"ipv6:%5B2001:db8::1%5D:1", "2001:db8::1"},
      {"ipv6:%5B::ffff:10.1.2.3%5D:4711", "10.1.2.3"},
      {"ipv6:%5Bfe80::1%25eth0%5D:4711", "fe80::1%eth0"},
      {"ipv6:%5Bnonsense%5D:4711", "ipv6:%5Bnonsense%5D:4711"},
      {"ipv6:nonsense", "ipv6:nonsense"},
      {"unix:", "unix"},
      {"unix:/run/evenpack/socket", "unix"},
      {"unix-abstract:name", "unix"},
      {"unknown", "unknown"},
      {"", ""},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(PeerOfAddress(each.address), each.peer) << each.address;
  }
}

class NoProperty final : public grpc::AuthPropertyIterator {};

// What gRPC knows of a connection.
class Known final : public grpc::AuthContext {
 public:
  Known(bool authenticated, std::multimap<std::string, std::string> properties)
      : authenticated_(authenticated), properties_(std::move(properties)) {}

  bool IsPeerAuthenticated() const override { return authenticated_; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override { return {}; }
  std::string GetPeerIdentityPropertyName() const override { return ""; }
  std::vector<grpc::string_ref> FindPropertyValues(
      const std::string& name) const override {
    std::vector<grpc::string_ref> values;
    const auto [begin, end] = properties_.equal_range(name);
    for (auto each = begin; each != end; ++each) values.emplace_back(each->second);
    return values;
  }
  grpc::AuthPropertyIterator begin() const override { return NoProperty(); }
  grpc::AuthPropertyIterator end() const override { return NoProperty(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override { return false; }

 private:
  const bool authenticated_;
  const std::multimap<std::string, std::string> properties_;
};

constexpr char kAddress[] = "ipv4:10.1.2.3:4711";

TEST(PeerTest, ACertificatesFirstNameGoesBeforeTheAddress) {
  const auto peer_of = [](bool authenticated,
                          std::multimap<std::string, std::string> properties) {
    const Known known(authenticated, std::move(properties));
    return PeerOf(&known, {}, kAddress);
  };
  const std::string san = GRPC_X509_SAN_PROPERTY_NAME;
  const std::string cn = GRPC_X509_CN_PROPERTY_NAME;
  EXPECT_EQ(peer_of(true, {{cn, "loader"}, {san, "spiffe://a/b"}, {san, "c.example"}}),
            "san=spiffe://a/b");
  EXPECT_EQ(peer_of(true, {{cn, "loader"}}), "cn=loader");
  EXPECT_EQ(peer_of(true, {{"transport_security_type", "ssl"}}), "10.1.2.3");
  EXPECT_EQ(peer_of(false, {{cn, "loader"}}), "10.1.2.3");
}

TEST(PeerTest, ATokenGoesBeforeTheAddressAndAfterACertificate) {
  const Caller caller = {{}, true, HashOfToken("a-token")};
  const Caller other = {{}, true, HashOfToken("b-token")};
  const Known certified(true, {{GRPC_X509_CN_PROPERTY_NAME, "loader"}});
  const Known unnamed(true, {{"transport_security_type", "ssl"}});
  EXPECT_EQ(PeerOf(&certified, caller, kAddress), "cn=loader");
  const std::string by_token = PeerOf(&unnamed, caller, kAddress);
  EXPECT_EQ(by_token.substr(0, 6), "token=");
  EXPECT_EQ(by_token.size(), 6 + 16U);
  EXPECT_EQ(PeerOf(nullptr, caller, "ipv4:10.9.9.9:1"), by_token);
  EXPECT_NE(PeerOf(nullptr, other, kAddress), by_token);
  EXPECT_EQ(PeerOf(nullptr, {{}, true, std::nullopt}, kAddress), "10.1.2.3");
}

// Answers with the caller's peer as the message of an error.
class Teller final : public v1::PackingService::WithCallbackMethod_GetJob<
                         v1::PackingService::Service> {
 public:
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest*,
                                   v1::GetJobResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish({grpc::StatusCode::ABORTED, PeerOf(*context, {})});
    return reactor;
  }
};

TEST(PeerTest, ACallWithoutACertificateIsItsHost) {
  Teller service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::PackingService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetJobResponse response;
  EXPECT_EQ(stub->GetJob(&context, v1::GetJobRequest(), &response).error_message(),
            "127.0.0.1");
}

}  // namespace
}  // namespace evenpack
