#include "server/tls/tls_credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/server/app/raw_grpc_client.h"
#include "tests/testing/certificates.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::CertificateFile;
using testing::FileBytes;
using testing::IsOk;
using testing::KeyFile;
using testing::ScratchDirectory;
using testing::StatusIs;

// A server with no services, whose certificate files can be replaced.
class TlsCredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override { Use("server"); }

  void Start(ClientCertificates certificates = ClientCertificates::kRequire) {
    auto opened = TlsCredentials::Open(files_, certificates);
    ASSERT_THAT(opened, IsOk());
    tls_ = *std::move(opened);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("localhost:0", tls_->credentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = "localhost:" + std::to_string(port);
  }

  static void Replace(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to,
                               std::filesystem::copy_options::overwrite_existing);
  }
  void Use(const std::string& name) {
    Replace(CertificateFile(name), files_.certificate);
    Replace(KeyFile(name), files_.key);
    Replace(CertificateFile("ca"), files_.client_ca);
  }

  // A connection of a client that shows that certificate; none for an empty name.
  std::shared_ptr<grpc::Channel> Client(const std::string& name,
                                        const std::string& expected_host = "") {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = FileBytes(CertificateFile("ca"));
    if (!name.empty()) {
      options.pem_private_key = FileBytes(KeyFile(name));
      options.pem_cert_chain = FileBytes(CertificateFile(name));
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (!expected_host.empty()) arguments.SetSslTargetNameOverride(expected_host);
    return grpc::CreateCustomChannel(address_, grpc::SslCredentials(options),
                                     arguments);
  }
  // What a call ends with: UNIMPLEMENTED where it gets through.
  static grpc::StatusCode Call(const std::shared_ptr<grpc::Channel>& channel) {
    testing::RawGrpcCall call(channel, "/test.Service/Call", "");
    return call.Finish().error_code();
  }
  bool GetsThrough(const std::string& name, const std::string& expected_host = "") {
    const grpc::StatusCode code = Call(Client(name, expected_host));
    if (code == grpc::StatusCode::UNIMPLEMENTED) return true;
    EXPECT_EQ(code, grpc::StatusCode::UNAVAILABLE);
    return false;
  }
  // As soon as what was published is used, which is within seconds.
  bool GetsThroughSoon(const std::string& name, const std::string& expected_host) {
    const auto end = system_clock::now() + seconds(60);
    while (system_clock::now() < end) {
      if (GetsThrough(name, expected_host)) return true;
    }
    return false;
  }

  const ScratchDirectory folder_;
  const CertificateFiles files_ = {folder_.File("chain"), folder_.File("key"),
                                   folder_.File("ca")};
  std::unique_ptr<TlsCredentials> tls_;
  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_F(TlsCredentialsTest, OnlyWhoHasAVerifiedCertificateGetsThroughWhereItIsRequired) {
  Start();
  EXPECT_TRUE(GetsThrough("client"));
  EXPECT_FALSE(GetsThrough(""));
  EXPECT_FALSE(GetsThrough("stranger"));
  EXPECT_FALSE(GetsThrough("expired_client"));
}

TEST_F(TlsCredentialsTest, WhoShowsNoneGetsThroughWhereItIsRequested) {
  Start(ClientCertificates::kRequest);
  EXPECT_TRUE(GetsThrough("client"));
  EXPECT_TRUE(GetsThrough(""));
  EXPECT_FALSE(GetsThrough("stranger"));
  EXPECT_FALSE(GetsThrough("expired_client"));
}

TEST_F(TlsCredentialsTest, ConnectionsThatAreMadeLaterUseTheFilesThatAreThereThen) {
  Start();
  const auto before = Client("client");
  EXPECT_EQ(Call(before), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_FALSE(GetsThrough("client", "packer.example"));
  Use("named");
  tls_->Look();
  EXPECT_TRUE(GetsThroughSoon("client", "packer.example"));
  EXPECT_FALSE(GetsThrough("client"));
  EXPECT_EQ(Call(before), grpc::StatusCode::UNIMPLEMENTED) << "it goes on";
}

TEST_F(TlsCredentialsTest, AuthoritiesOfClientsAreReadAgainToo) {
  Start();
  EXPECT_FALSE(GetsThrough("stranger"));
  Replace(CertificateFile("other_ca"), files_.client_ca);
  tls_->Look();
  EXPECT_TRUE(GetsThroughSoon("stranger", ""));
  EXPECT_FALSE(GetsThrough("client"));
}

TEST_F(TlsCredentialsTest, APairThatDoesNotMatchChangesNothing) {
  Start();
  Replace(CertificateFile("named"), files_.certificate);
  for (int i = 0; i < 3; ++i) tls_->Look();
  EXPECT_TRUE(GetsThrough("client"));
  std::filesystem::remove(files_.key);
  tls_->Look();
  EXPECT_TRUE(GetsThrough("client"));
  // The other half of the change.
  Use("named");
  tls_->Look();
  EXPECT_TRUE(GetsThroughSoon("client", "packer.example"));
}

TEST_F(TlsCredentialsTest, AKeysFileMayHoldCertificatesToo) {
  std::ofstream(files_.key) << FileBytes(CertificateFile("named"))
                            << FileBytes(KeyFile("server"));
  Start();
  EXPECT_TRUE(GetsThrough("client"));
}

TEST_F(TlsCredentialsTest, FilesThatCannotBeServedAreNotOpened) {
  Replace(KeyFile("named"), files_.key);
  EXPECT_THAT(TlsCredentials::Open(files_, ClientCertificates::kRequire).status(),
              StatusIs(testing::kInvalid, ::testing::StartsWith("tls-key: ")));
}

}  // namespace
}  // namespace evenpack
