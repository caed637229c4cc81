#include "client/cpp/security_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/testing/certificates.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::CertificateFile;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::KeyFile;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::StartsWith;
using Texts = std::map<std::string, std::string>;

constexpr char kElsewhere[] = "packer:7654";

TEST(SecurityFlagsTest, NothingGivenIsNoSecurity) {
  const auto security = ReadSecurity({}, {{"EVENPACK_TLS_CA", ""}}, kElsewhere);
  ASSERT_THAT(security, IsOk());
  EXPECT_EQ(*security, Security());
}

TEST(SecurityFlagsTest, FlagsAndVariablesSayTheSame) {
  const std::string ca = CertificateFile("ca");
  const std::string certificate = CertificateFile("client");
  const std::string key = KeyFile("client");
  const Security expected{.tls = true,
                          .ca_file = ca,
                          .certificate_file = certificate,
                          .key_file = key,
                          .server_name = "n"};
  const auto by_flags = ReadSecurity({{"--tls", "true"},
                                      {"--tls-ca", ca},
                                      {"--tls-certificate", certificate},
                                      {"--tls-key", key},
                                      {"--tls-server-name", "n"}},
                                     {}, kElsewhere);
  ASSERT_THAT(by_flags, IsOk());
  EXPECT_EQ(*by_flags, expected);
  const auto by_variables = ReadSecurity({},
                                         {{"EVENPACK_TLS", "1"},
                                          {"EVENPACK_TLS_CA", ca},
                                          {"EVENPACK_TLS_CERTIFICATE", certificate},
                                          {"EVENPACK_TLS_KEY", key},
                                          {"EVENPACK_TLS_SERVER_NAME", "n"}},
                                         kElsewhere);
  ASSERT_THAT(by_variables, IsOk());
  EXPECT_EQ(*by_variables, expected);
}

TEST(SecurityFlagsTest, AFlagGoesBeforeItsVariable) {
  const auto security = ReadSecurity(
      {{"--tls-server-name", "flag"}},
      {{"EVENPACK_TLS", "1"}, {"EVENPACK_TLS_SERVER_NAME", "x"}}, kElsewhere);
  ASSERT_THAT(security, IsOk());
  EXPECT_EQ(security->server_name, "flag");
}

TEST(SecurityFlagsTest, RefusalsNameWhatWasWritten) {
  const struct {
    Texts flags;
    Texts variables;
    const char* named;
  } rows[] = {
      {{{"--tls-ca", "/none"}}, {}, "--tls-ca: '/none'"},
      {{}, {{"EVENPACK_TLS_CA", "/none"}}, "EVENPACK_TLS_CA: '/none'"},
      {{{"--tls-ca", ""}}, {}, "--tls-ca: ''"},
      {{}, {{"EVENPACK_TLS", "yes"}}, "EVENPACK_TLS: 'yes'"},
      {{{"--tls", "true"}, {"--tls-certificate", "c"}}, {}, "--tls-key: ''"},
      {{{"--tls-server-name", "n"}}, {}, "--tls-server-name: 'n'"},
      {{{"--token-file", "/none"}}, {}, "--token-file: '/none'"},
      {{{"--token-file", "/none"}}, {{"EVENPACK_TLS", "0"}}, "--token-file: '/none'"},
      {{{"--tls", "true"}, {"--token-file", "/none"}}, {}, "--token-file: '/none'"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(ReadSecurity(row.flags, row.variables, kElsewhere),
                StatusIs(kInvalid, StartsWith(row.named)));
  }
}

TEST(SecurityFlagsTest, VariablesAreThoseOfTheProcess) {
  ASSERT_EQ(setenv("EVENPACK_TLS_SERVER_NAME", "there", 1), 0);
  EXPECT_EQ(SecurityVariables()["EVENPACK_TLS_SERVER_NAME"], "there");
  ASSERT_EQ(unsetenv("EVENPACK_TLS_SERVER_NAME"), 0);
  EXPECT_EQ(SecurityVariables().count("EVENPACK_TLS_SERVER_NAME"), 0U);
}

}  // namespace
}  // namespace evenpack::client
