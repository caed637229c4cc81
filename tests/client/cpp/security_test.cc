#include "client/cpp/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/certificates.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::CertificateFile;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::KeyFile;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFar[] = "packer:7654";

TEST(SecurityTest, EachPartOfItFitsTheOthers) {
  EXPECT_THAT(Validate(Security{}, kFar), IsOk());
  EXPECT_THAT(Validate(Security{.tls = true}, kFar), IsOk());
  EXPECT_THAT(Validate(Security{.ca_file = "ca", .server_name = "n"}, kFar), IsOk());
  EXPECT_THAT(
      Validate(Security{.tls = true, .certificate_file = "c", .key_file = "k"}, kFar),
      IsOk());
  EXPECT_THAT(Validate(Security{.ca_file = "ca", .token_file = "t"}, kFar), IsOk());
}

TEST(SecurityTest, WhatDoesNotFitIsNamed) {
  const struct {
    Security security;
    const char* named;
  } rows[] = {
      {{.tls = true, .certificate_file = "c"}, "security.key_file: ''"},
      {{.tls = true, .key_file = "k"}, "security.certificate_file: ''"},
      {{.certificate_file = "c", .key_file = "k"},
       "security.certificate_file: 'c' is not accepted; accepted: one with TLS"},
      {{.server_name = "n"}, "security.server_name: 'n'"},
      {{.token_file = "t"}, "security.token_file: 't'"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(Validate(row.security, kFar), StatusIs(kInvalid, HasSubstr(row.named)));
  }
}

TEST(SecurityTest, ATokenGoesInTheClearToThisMachineAlone) {
  const Security security{.token_file = "t"};
  for (const char* const address : {"localhost:1", "unix:/a", "127.0.0.1:1,[::1]:2"}) {
    EXPECT_THAT(Validate(security, address), IsOk()) << address;
  }
  for (const char* const address : {kFar, "localhost:1,packer:2"}) {
    EXPECT_THAT(Validate(security, address),
                StatusIs(kInvalid, HasSubstr("security.token_file")))
        << address;
  }
}

class SecurityFilesTest : public ::testing::Test {
 protected:
  std::string Written(const std::string& text) {
    const std::string path = folder_.File("file");
    std::ofstream(path) << text;
    return path;
  }

  const ScratchDirectory folder_;
};

TEST_F(SecurityFilesTest, ThatHoldWhatTheyShouldAreAccepted) {
  EXPECT_THAT(CheckFiles({}), IsOk());
  EXPECT_THAT(CheckFiles({.ca_file = CertificateFile("ca"),
                          .certificate_file = CertificateFile("client"),
                          .key_file = KeyFile("client"),
                          .token_file = Written("a.token-1\n")}),
              IsOk());
}

TEST_F(SecurityFilesTest, ThatAreMissingOrOfAnotherKindAreNamed) {
  const std::string missing = folder_.File("missing");
  const std::string key = KeyFile("client");
  const struct {
    Security security;
    const char* field;
    std::string file;
  } rows[] = {
      {{.ca_file = missing}, "security.ca_file", missing},
      {{.ca_file = folder_.path()}, "security.ca_file", folder_.path()},
      {{.ca_file = key}, "security.ca_file", key},
      {{.certificate_file = missing}, "security.certificate_file", missing},
      {{.key_file = CertificateFile("client")},
       "security.key_file",
       CertificateFile("client")},
      {{.token_file = missing}, "security.token_file", missing},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(CheckFiles(row.security),
                StatusIs(kInvalid, AllOf(HasSubstr(row.field), HasSubstr(row.file))));
  }
  EXPECT_THAT(CheckFiles({.ca_file = missing}),
              StatusIs(kInvalid, HasSubstr("No such file")));
}

TEST_F(SecurityFilesTest, ATokenIsTheTextWithoutTheWhitespaceAtItsEnd) {
  EXPECT_EQ(*ReadToken(Written("secret")), "secret");
  EXPECT_EQ(*ReadToken(Written("secret \r\n\n")), "secret");
}

TEST_F(SecurityFilesTest, WhatIsNoTokenIsRefusedAndNotShown) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(8193, 'x'),
        std::string("secret two"), std::string("secret\nX-Other: secret"),
        std::string("secret\xC3\xA9")}) {
    EXPECT_THAT(
        ReadToken(Written(text)).status(),
        StatusIs(kInvalid, AllOf(HasSubstr(folder_.File("file")),
                                 HasSubstr("1 to 8192"), Not(HasSubstr("secret")))));
  }
}

}  // namespace
}  // namespace evenpack::client
