#include "server/runtime/file_text.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::string> ReadFileText(absl::string_view flag,
                                         const std::string& path) {
  const auto refused = [&flag, &path](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", path, "' can't be read: ", why,
                     "; accepted: a file of at most ", kMaxFileBytes, " bytes"));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return refused(std::strerror(errno));
  std::string text;
  std::array<char, 4096> bytes;
  size_t count = 0;
  while ((count = std::fread(bytes.data(), 1, bytes.size(), file.get())) > 0) {
    text.append(bytes.data(), count);
    if (text.size() > kMaxFileBytes) return refused("it is too large");
  }
  // A folder can be opened, and fails at the first byte.
  if (std::ferror(file.get()) != 0) return refused(std::strerror(errno));
  return text;
}

}  // namespace evenpack
