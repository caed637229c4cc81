#include "server/app/server_security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/certificates.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using testing::CertificateFile;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::KeyFile;
using testing::kInvalid;
using testing::ScratchDirectory;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr char kRolesFor[] =
    "grants: [{role: consumer, jobs: ['*'], subjects: ['CN=ops']}]\n";

const Caller& Ops() {
  static const Caller kOps = {{{Subject::Kind::kName, "CN=ops"}}};
  return kOps;
}

class ServerSecurityTest : public ::testing::Test {
 protected:
  void WriteRoles(const std::string& text) { std::ofstream(roles_) << text; }
  ServerOptions Secure() {
    ServerOptions options;
    options.listen = "0.0.0.0:0";
    options.tls_certificate = CertificateFile("server");
    options.tls_key = KeyFile("server");
    options.tls_client_ca = CertificateFile("ca");
    WriteRoles(kRolesFor);
    options.roles = roles_;
    return options;
  }

 private:
  const ScratchDirectory folder_;

 protected:
  const std::string roles_ = folder_.File("roles.yaml");
};

TEST_F(ServerSecurityTest, TellsWhenItsCertificateRunsOutWhereItHasOne) {
  const auto secure = ServerSecurity::Open(Secure());
  ASSERT_THAT(secure, IsOk());
  EXPECT_GT((*secure)->certificate_expiry().value_or(0), 0);
  const auto local = ServerSecurity::Open(ServerOptions());
  ASSERT_THAT(local, IsOk());
  EXPECT_FALSE((*local)->certificate_expiry().has_value());
}

TEST_F(ServerSecurityTest, APortThatOthersReachHasTlsAndRolesOrSaysItIsInsecure) {
  struct Row {
    const char* listen;
    bool tls;
    bool roles;
    bool insecure;
    bool accepted;
  };
  for (const Row& row : {Row{"127.0.0.1:0", false, false, false, true},
                         {"127.9.9.9:0", false, false, false, true},
                         {"localhost:0", false, false, false, true},
                         {"[::1]:0", false, false, false, true},
                         {"0.0.0.0:0", false, false, false, false},
                         {"[::]:0", false, false, false, false},
                         {"packer:0", false, false, false, false},
                         {"127.example:0", false, false, false, false},
                         {"0.0.0.0:0", true, false, false, false},
                         {"0.0.0.0:0", false, true, false, false},
                         {"0.0.0.0:0", true, true, false, true},
                         {"0.0.0.0:0", false, false, true, true},
                         {"127.0.0.1:0", false, true, false, true}}) {
    ServerOptions options = Secure();
    options.listen = row.listen;
    if (!row.tls)
      options.tls_certificate = options.tls_key = options.tls_client_ca = "";
    if (!row.roles) options.roles = "";
    options.insecure = row.insecure;
    const absl::Status status = CheckSecurityFlags(options);
    EXPECT_EQ(status.ok(), row.accepted) << row.listen << row.tls << row.roles;
    if (status.ok()) continue;
    EXPECT_THAT(status,
                StatusIs(kInvalid,
                         AllOf(StartsWith("listen: '"), HasSubstr("--tls-certificate"),
                               HasSubstr("--roles"), HasSubstr("--insecure"))));
  }
}

TEST_F(ServerSecurityTest, FlagsThatNeedEachOtherAreNamed) {
  ServerOptions no_key = Secure();
  no_key.tls_key = "";
  EXPECT_THAT(CheckSecurityFlags(no_key),
              StatusIs(kInvalid, StartsWith("tls-key: none")));
  ServerOptions no_certificate = Secure();
  no_certificate.tls_certificate = "";
  EXPECT_THAT(CheckSecurityFlags(no_certificate),
              StatusIs(kInvalid, StartsWith("tls-certificate: none")));
  ServerOptions authorities_alone = Secure();
  authorities_alone.tls_certificate = authorities_alone.tls_key = "";
  EXPECT_THAT(CheckSecurityFlags(authorities_alone),
              StatusIs(kInvalid, StartsWith("tls-client-ca: ")));
  for (const char* certificates : {"require", "request"}) {
    ServerOptions nobody_verifies = Secure();
    nobody_verifies.tls_client_certificates = certificates;
    EXPECT_THAT(CheckSecurityFlags(nobody_verifies), IsOk());
    nobody_verifies.tls_client_ca = "";
    EXPECT_THAT(CheckSecurityFlags(nobody_verifies),
                StatusIs(kInvalid, AllOf(StartsWith("tls-client-certificates: '"),
                                         HasSubstr("accepted: with --tls-client-ca"))));
  }
  ServerOptions channelz = Secure();
  channelz.channelz = "on";
  EXPECT_THAT(CheckSecurityFlags(channelz),
              StatusIs(kInvalid, StartsWith("channelz: ")));
  channelz.listen = "127.0.0.1:0";
  EXPECT_THAT(CheckSecurityFlags(channelz), IsOk());
}

TEST_F(ServerSecurityTest, FilesThatCannotBeUsedAreNamedByTheirFlags) {
  ServerOptions no_chain = Secure();
  no_chain.tls_certificate = roles_;
  EXPECT_THAT(ServerSecurity::Open(no_chain).status(),
              StatusIs(kInvalid, StartsWith("tls-certificate: '" + roles_)));
  ServerOptions no_roles = Secure();
  no_roles.roles += "-none";
  EXPECT_THAT(ServerSecurity::Open(no_roles).status(),
              StatusIs(kInvalid, StartsWith("roles: '" + no_roles.roles)));
  const ServerOptions wrong = Secure();
  WriteRoles("grants: x\n");
  EXPECT_THAT(ServerSecurity::Open(wrong).status(),
              StatusIs(kInvalid, StartsWith("roles: line 1: ")));
}

TEST_F(ServerSecurityTest, ReflectionIsThereWhereEverybodyIsKnownOrNobodyAskedFor) {
  ServerOptions options = Secure();
  EXPECT_TRUE((*ServerSecurity::Open(options))->admits_reflection());
  options.tls_client_certificates = "request";
  EXPECT_FALSE((*ServerSecurity::Open(options))->admits_reflection());
  options.tls_client_ca = options.tls_client_certificates = "";
  EXPECT_FALSE((*ServerSecurity::Open(options))->admits_reflection());
  EXPECT_TRUE((*ServerSecurity::Open(ServerOptions()))->admits_reflection());
}

TEST_F(ServerSecurityTest, WithoutRolesThereIsNoAccessControl) {
  const auto security = ServerSecurity::Open(ServerOptions());
  ASSERT_THAT(security, IsOk());
  EXPECT_EQ((*security)->access(), nullptr);
  (*security)->Look();
}

TEST_F(ServerSecurityTest, RolesAreReadAgainAndAWrongFileChangesNothing) {
  const auto opened = ServerSecurity::Open(Secure());
  ASSERT_THAT(opened, IsOk());
  ServerSecurity& security = **opened;
  AccessControl& access = *security.access();
  EXPECT_THAT(access.Decide(Ops(), "GetStep", {"a"}), IsOk());
  const auto look_twice = [&security] {
    security.Look();
    security.Look();
  };
  for (const char* wrong : {"", "grants: x", "grants: [{role: consumer}]"}) {
    WriteRoles(wrong);
    look_twice();
    EXPECT_THAT(access.Decide(Ops(), "GetStep", {"a"}), IsOk()) << wrong;
  }
  WriteRoles("grants: []");
  look_twice();
  EXPECT_FALSE(access.Decide(Ops(), "GetStep", {"a"}).ok());
  WriteRoles(kRolesFor);
  look_twice();
  EXPECT_THAT(access.Decide(Ops(), "GetStep", {"a"}), IsOk());
}

TEST_F(ServerSecurityTest, RolesThatAreSeenWhileTheyAreWrittenAreNotTaken) {
  const auto opened = ServerSecurity::Open(Secure());
  ASSERT_THAT(opened, IsOk());
  for (const char* half : {"grants: []", "grants: []\n", "grants: []\n#"}) {
    WriteRoles(half);
    (*opened)->Look();
    EXPECT_THAT((*opened)->access()->Decide(Ops(), "GetStep", {"a"}), IsOk()) << half;
  }
  (*opened)->Look();
  EXPECT_FALSE((*opened)->access()->Decide(Ops(), "GetStep", {"a"}).ok());
}

}  // namespace
}  // namespace evenpack
