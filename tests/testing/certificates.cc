#include "tests/testing/certificates.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/source_file.h"

namespace evenpack::testing {
namespace {

class CertificateFolder {
 public:
  CertificateFolder() {
    const std::string make =
        SourceFile("tests/testing/make_certificates.sh ") + folder_.path();
    EXPECT_EQ(std::system(make.c_str()), 0) << make;
  }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  const ScratchDirectory folder_;
};

const CertificateFolder& Folder() {
  static const CertificateFolder kFolder;
  return kFolder;
}

}  // namespace

std::string CertificateFile(const std::string& name) {
  return Folder().File(name + ".pem");
}

std::string KeyFile(const std::string& name) { return Folder().File(name + ".key"); }

}  // namespace evenpack::testing
