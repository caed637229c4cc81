// Channels with TLS and tokens, to servers in this process.
#include "client/cpp/secured_channel.h"

#include <gmock/gmock.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/grpc_stub.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/runtime/mutex.h"
#include "tests/testing/certificates.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::CertificateFile;
using ::evenpack::testing::FileBytes;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::KeyFile;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kUnauthenticated = absl::StatusCode::kUnauthenticated;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

// Answers GetJob with the common name of the client's certificate, and StreamSteps with
// one mark; notes what calls had as authorization.
class NotingService final : public v1::PackingService::Service {
 public:
  std::vector<std::string> TakeAuthorizations() {
    MutexLock lock(mutex_);
    return std::exchange(authorizations_, {});
  }

  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest*,
                      v1::GetJobResponse* response) override {
    Note(*context);
    for (const grpc::string_ref& name :
         context->auth_context()->FindPropertyValues("x509_common_name")) {
      response->mutable_job()->set_name(std::string(name.data(), name.size()));
    }
    return grpc::Status::OK;
  }

  grpc::Status StreamSteps(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::StreamStepsResponse, v1::StreamStepsRequest>* call)
      override {
    Note(*context);
    v1::StreamStepsResponse response;
    response.mutable_durable_marked()->set_durable_steps(1);
    call->Write(response);
    return grpc::Status::OK;
  }

 private:
  void Note(const grpc::ServerContext& context) {
    MutexLock lock(mutex_);
    const auto [first, last] = context.client_metadata().equal_range("authorization");
    for (auto each = first; each != last; ++each) {
      authorizations_.emplace_back(each->second.data(), each->second.size());
    }
  }

  Mutex mutex_;
  std::vector<std::string> authorizations_ EVENPACK_GUARDED_BY(mutex_);
};

std::shared_ptr<grpc::ServerCredentials> TlsAs(const std::string& name,
                                               bool asks_for_clients = false) {
  grpc::SslServerCredentialsOptions options(
      asks_for_clients ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                       : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back(
      {FileBytes(KeyFile(name)), FileBytes(CertificateFile(name))});
  if (asks_for_clients) options.pem_root_certs = FileBytes(CertificateFile("ca"));
  return grpc::SslServerCredentials(options);
}

Security Trusting(const std::string& authority) {
  return {.ca_file = CertificateFile(authority)};
}

Security As(const std::string& client) {
  return {.ca_file = CertificateFile("ca"),
          .certificate_file = CertificateFile(client),
          .key_file = KeyFile(client)};
}

class SecuredChannelTest : public ::testing::Test {
 protected:
  SecuredChannelTest() {
    options_.backoff.initial = milliseconds(1);
    options_.backoff.total = milliseconds(200);
  }
  ~SecuredChannelTest() override { Stop(); }

  void Serve(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address_, credentials, &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = "127.0.0.1:" + std::to_string(port);
    options_.address = address_;
  }

  void Stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  absl::StatusOr<Client> Connect(const Security& security) {
    options_.security = security;
    return Client::Connect(options_);
  }

  // The common name of the certificate that the server saw.
  absl::StatusOr<std::string> NameSeen(const Security& security) {
    options_.was_answered = std::make_shared<std::atomic<bool>>(false);
    absl::StatusOr<Client> client = Connect(security);
    if (!client.ok()) return client.status();
    const absl::StatusOr<v1::Job> job = client->GetJob("run");
    if (!job.ok()) return job.status();
    return job->name();
  }

  std::string WriteToken(const std::string& token) {
    std::ofstream(folder_.File("token")) << token;
    return folder_.File("token");
  }

  NotingService service_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
  const ScratchDirectory folder_;
};

TEST_F(SecuredChannelTest, AServerOfATrustedAuthorityIsCalled) {
  Serve(TlsAs("server"));
  EXPECT_THAT(NameSeen(Trusting("ca")), IsOk());
  options_.address = "localhost" + address_.substr(address_.find(':'));
  EXPECT_THAT(NameSeen(Trusting("ca")), IsOk());
}

TEST_F(SecuredChannelTest, ACertificateThatIsNotAcceptedEndsTheFirstCallAtOnce) {
  options_.backoff.total = std::chrono::hours(1);
  const struct {
    const char* server;
    Security security;
    const char* cause;
  } rows[] = {
      {"server", Trusting("other_ca"), "signed by none of the authorities"},
      {"server", {.tls = true}, "signed by none of the authorities"},
      {"expired", Trusting("ca"), "out of date"},
      {"named", Trusting("ca"), "another name"},
  };
  for (const auto& row : rows) {
    Serve(TlsAs(row.server));
    EXPECT_THAT(NameSeen(row.security),
                StatusIs(kUnauthenticated,
                         AllOf(HasSubstr(row.cause), Not(HasSubstr("gave up")))))
        << row.server;
    Stop();
  }
}

TEST_F(SecuredChannelTest, AServerWithoutTlsIsNamedAsSuch) {
  Serve(grpc::InsecureServerCredentials());
  EXPECT_THAT(NameSeen(Trusting("ca")),
              StatusIs(kUnauthenticated, HasSubstr("speaks no TLS")));
}

TEST_F(SecuredChannelTest, AClientsKeyOfAnotherCertificateEndsTheFirstCallAtOnce) {
  Serve(TlsAs("server"));
  options_.backoff.total = std::chrono::hours(1);
  Security security = As("client");
  security.key_file = KeyFile("stranger");
  EXPECT_THAT(NameSeen(security),
              StatusIs(kUnauthenticated, HasSubstr("key may be of another")));
}

TEST_F(SecuredChannelTest, AClientWithoutTlsIsToldWhatTheServerMayWant) {
  Serve(TlsAs("server"));
  EXPECT_THAT(NameSeen({}), StatusIs(kUnavailable, HasSubstr("may want TLS")));
}

TEST_F(SecuredChannelTest, AnotherNameCanBeAskedFor) {
  Serve(TlsAs("named"));
  Security security = Trusting("ca");
  security.server_name = "packer.example";
  EXPECT_THAT(NameSeen(security), IsOk());
}

TEST_F(SecuredChannelTest, TheServerSeesTheClientsCertificate) {
  Serve(TlsAs("server", /*asks_for_clients=*/true));
  const auto name = NameSeen(As("client"));
  ASSERT_THAT(name, IsOk());
  EXPECT_EQ(*name, "client");
}

TEST_F(SecuredChannelTest, ClientsThatTheServerRefusesAreToldWhatItMayWant) {
  Serve(TlsAs("server", /*asks_for_clients=*/true));
  for (const Security& security :
       {Trusting("ca"), As("stranger"), As("expired_client")}) {
    EXPECT_THAT(NameSeen(security),
                StatusIs(kUnavailable, HasSubstr("a client certificate")));
  }
}

// Of a server that is back: a busy machine may take longer than a call's own tries.
absl::Status AwaitJob(Client& client) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  absl::Status status = client.GetJob("run").status();
  while (!status.ok() && std::chrono::steady_clock::now() < deadline) {
    status = client.GetJob("run").status();
  }
  return status;
}

TEST_F(SecuredChannelTest, AServerThatAnsweredOnceMayRenewItsCertificate) {
  Serve(TlsAs("server"));
  auto client = Connect(Trusting("ca"));
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(client->GetJob("run"), IsOk());
  Stop();
  Serve(TlsAs("expired"));
  EXPECT_THAT(client->GetJob("run"),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("out of date"), HasSubstr("gave up after"))));
  Stop();
  Serve(TlsAs("server"));
  EXPECT_THAT(AwaitJob(*client), IsOk());
}

// What renews certificates puts the old ones' place in one step.
void Replace(const std::string& from, const std::string& to) {
  std::filesystem::copy_file(from, to + ".new");
  std::filesystem::rename(to + ".new", to);
}

TEST_F(SecuredChannelTest, FilesThatChangeAreUsedByNewConnections) {
  Security security{.ca_file = folder_.File("ca.pem"),
                    .certificate_file = folder_.File("client.pem"),
                    .key_file = folder_.File("client.key")};
  Replace(CertificateFile("other_ca"), security.ca_file);
  Replace(CertificateFile("stranger"), security.certificate_file);
  Replace(KeyFile("stranger"), security.key_file);
  Serve(TlsAs("server", /*asks_for_clients=*/true));
  auto client = Connect(security);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(client->GetJob("run"), StatusIs(kUnauthenticated, HasSubstr("")));
  Replace(KeyFile("client"), security.key_file);
  Replace(CertificateFile("client"), security.certificate_file);
  Replace(CertificateFile("ca"), security.ca_file);
  ASSERT_THAT(AwaitJob(*client), IsOk());
  EXPECT_EQ(client->GetJob("run")->name(), "client");
}

TEST_F(SecuredChannelTest, EveryCallHasTheTokenThatTheFileHasThen) {
  Serve(TlsAs("server"));
  Security security = Trusting("ca");
  security.token_file = WriteToken("first\n");
  auto client = Connect(security);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(client->GetJob("run"), IsOk());
  WriteToken("second\n");
  EXPECT_THAT(client->GetJob("run"), IsOk());
  EXPECT_THAT(service_.TakeAuthorizations(),
              ElementsAre("Bearer first", "Bearer second"));
  const auto stream = MakeGrpcStub(options_)->StreamSteps({});
  v1::StreamStepsResponse response;
  EXPECT_TRUE(stream->Read(response));
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_THAT(service_.TakeAuthorizations(), ElementsAre("Bearer second"));
}

TEST_F(SecuredChannelTest, WithoutTlsATokenGoesNoFurtherThanThisMachine) {
  Serve(grpc::InsecureServerCredentials());
  options_.security.token_file = WriteToken("secret");
  EXPECT_THAT(MakeGrpcStub(options_)->GetJob({}, {milliseconds(60'000), {}}), IsOk());
  EXPECT_THAT(service_.TakeAuthorizations(), ElementsAre("Bearer secret"));
  // Though the options are not valid.
  options_.address = "dns:///" + address_;
  EXPECT_THAT(MakeGrpcStub(options_)->GetJob({}, {milliseconds(60'000), {}}), IsOk());
  EXPECT_THAT(service_.TakeAuthorizations(), ElementsAre());
}

TEST_F(SecuredChannelTest, ErrorsDoNotShowTheToken) {
  Serve(TlsAs("server"));
  Security security = Trusting("other_ca");
  security.token_file = WriteToken("secret");
  EXPECT_THAT(NameSeen(security), StatusIs(kUnauthenticated, Not(HasSubstr("secret"))));
  Stop();
  EXPECT_THAT(NameSeen(security), StatusIs(kUnavailable, Not(HasSubstr("secret"))));
}

TEST_F(SecuredChannelTest, FilesAreCheckedBeforeAnythingIsSent) {
  options_.address = "127.0.0.1:1";
  EXPECT_THAT(Connect({.ca_file = folder_.File("none")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("security.ca_file"), HasSubstr("none"))));
}

}  // namespace
}  // namespace evenpack::client
