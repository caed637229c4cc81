#include "server/tls/certificate_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include "tests/testing/certificates.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using testing::CertificateFile;
using testing::FileBytes;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::KeyFile;
using testing::kInvalid;
using ::testing::Not;
using testing::ScratchDirectory;
using ::testing::StartsWith;
using testing::StatusIs;

class CertificateFilesTest : public ::testing::Test {
 protected:
  std::string Written(const std::string& name, const std::string& text) {
    std::ofstream(folder_.File(name)) << text;
    return folder_.File(name);
  }
  const CertificateFiles right_ = {CertificateFile("server"), KeyFile("server"),
                                   CertificateFile("ca")};

 private:
  const ScratchDirectory folder_;
};

TEST_F(CertificateFilesTest, AreReadAsOneIdentityAndTheAuthorities) {
  const auto texts = ReadCertificateFiles(right_);
  ASSERT_THAT(texts, IsOk());
  EXPECT_EQ(texts->identity, FileBytes(right_.key) + FileBytes(right_.certificate));
  EXPECT_EQ(texts->client_ca, FileBytes(right_.client_ca));
  EXPECT_FALSE(HasExpired(*texts));
  const auto alone = ReadCertificateFiles({right_.certificate, right_.key, ""});
  ASSERT_THAT(alone, IsOk());
  EXPECT_EQ(alone->client_ca, "");
}

TEST_F(CertificateFilesTest, AChainMayGoUpToTheAuthority) {
  const std::string chain = FileBytes(right_.certificate) + "\n# the authority's\n" +
                            FileBytes(right_.client_ca);
  EXPECT_THAT(ReadCertificateFiles({Written("chain", chain), right_.key, ""}), IsOk());
}

// Whoever reads the identity takes the first certificate in it for the server's.
TEST_F(CertificateFilesTest, OfTheKeysFileTheKeyAloneIsTaken) {
  const std::string key = FileBytes(right_.key);
  const auto texts = ReadCertificateFiles(right_);
  ASSERT_THAT(texts, IsOk());
  for (const char* other : {"named", "server", "expired"}) {
    const std::string certificate = FileBytes(CertificateFile(other));
    for (const std::string& held : {certificate + key, key + certificate}) {
      EXPECT_EQ(ReadCertificateFiles(
                    {right_.certificate, Written("held", held), right_.client_ca}),
                texts)
          << other;
    }
  }
}

TEST_F(CertificateFilesTest, AChainWithAKeyThatIsTooShortIsRefused) {
  const std::string chain =
      FileBytes(right_.certificate) + FileBytes(CertificateFile("weak_ca"));
  EXPECT_THAT(ReadCertificateFiles({Written("weak", chain), right_.key, ""}),
              StatusIs(kInvalid, AllOf(StartsWith("tls-certificate: '"),
                                       HasSubstr("certificate 2"),
                                       HasSubstr("ca key too small"))));
}

TEST_F(CertificateFilesTest, OneThatIsOutOfDateIsReadAndSaysSo) {
  const auto texts =
      ReadCertificateFiles({CertificateFile("expired"), KeyFile("expired"), ""});
  ASSERT_THAT(texts, IsOk());
  EXPECT_TRUE(HasExpired(*texts));
  EXPECT_TRUE(HasExpired({}));
}

int64_t SecondsLeft(const CertificateTexts& texts) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return ExpiryOf(texts).value_or(0) -
         std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

TEST_F(CertificateFilesTest, TellWhenTheFirstOfTheirChainRunsOut) {
  constexpr int64_t kDay = 86'400;
  const auto lasting = ReadCertificateFiles(right_);
  ASSERT_THAT(lasting, IsOk());
  EXPECT_GT(SecondsLeft(*lasting), 29 * kDay);
  EXPECT_LE(SecondsLeft(*lasting), 30 * kDay);
  const std::string chain =
      FileBytes(right_.certificate) + FileBytes(CertificateFile("expired"));
  const auto shorter = ReadCertificateFiles({Written("chain", chain), right_.key, ""});
  ASSERT_THAT(shorter, IsOk());
  EXPECT_LE(SecondsLeft(*shorter), -kDay);
  EXPECT_FALSE(ExpiryOf({}).has_value());
}

TEST_F(CertificateFilesTest, NamesTheFlagAndTheFileThatCannotBeServed) {
  const std::string certificate = FileBytes(right_.certificate);
  const std::string key = FileBytes(right_.key);
  const std::string none = Written("none", "") + "1";
  const std::string broken = Written("broken", certificate.substr(0, 200) + "\n");
  const std::string torn =
      Written("torn", certificate + certificate.substr(0, certificate.size() - 40));
  const std::string encrypted = Written("encrypted",
                                        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4=\n"
                                        "-----END ENCRYPTED PRIVATE KEY-----\n");
  struct Row {
    CertificateFiles files;
    const char* flag;
    std::string path;
    const char* says;
  };
  for (const Row& row : {
           Row{{none, right_.key, ""}, "tls-certificate", none, "can't be read"},
           {{right_.certificate, none, ""}, "tls-key", none, "can't be read"},
           {{right_.certificate, right_.key, none},
            "tls-client-ca",
            none,
            "can't be read"},
           {{right_.key, right_.key, ""},
            "tls-certificate",
            right_.key,
            "no certificate"},
           {{broken, right_.key, ""}, "tls-certificate", broken, "certificate"},
           {{torn, right_.key, ""}, "tls-certificate", torn, "what follows"},
           {{right_.certificate, right_.certificate, ""},
            "tls-key",
            right_.certificate,
            "not encrypted"},
           {{right_.certificate, encrypted, ""}, "tls-key", encrypted, "not encrypted"},
           {{right_.certificate, KeyFile("named"), ""},
            "tls-key",
            KeyFile("named"),
            "not the key of the certificate"},
           {{right_.certificate, right_.key, right_.key},
            "tls-client-ca",
            right_.key,
            "no certificate"},
       }) {
    EXPECT_THAT(ReadCertificateFiles(row.files),
                StatusIs(kInvalid, AllOf(StartsWith(std::string(row.flag) + ": '"),
                                         HasSubstr(row.path), HasSubstr(row.says),
                                         Not(HasSubstr(key.substr(40, 20))))));
  }
}

}  // namespace
}  // namespace evenpack
