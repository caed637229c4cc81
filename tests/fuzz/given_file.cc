#include "tests/fuzz/given_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

namespace evenpack::fuzz {

GivenFile::GivenFile(std::string_view content)
    : descriptor_(memfd_create("given", MFD_CLOEXEC)) {
  Require(descriptor_ >= 0, "a file in memory can be made");
  while (!content.empty()) {
    const ssize_t written = write(descriptor_, content.data(), content.size());
    Require(written > 0, "a file in memory can be written");
    content.remove_prefix(static_cast<size_t>(written));
  }
}

GivenFile::~GivenFile() { close(descriptor_); }

}  // namespace evenpack::fuzz
