#include "client/cli/binary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

absl::Status Refused(const std::string& flag, const std::string& path,
                     const std::string& why, const std::string& accepted) {
  return InvalidField(flag, absl::StrCat(QuotedValue(path), " (", why, ")"), accepted);
}

}  // namespace

absl::StatusOr<BinaryFile> BinaryFile::Open(const std::string& flag,
                                            const std::string& path,
                                            const std::string& accepted) {
  // Else a pipe would be waited for, and refused then.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Refused(flag, path, std::strerror(errno), accepted);
  BinaryFile opened(descriptor, flag, path, accepted);
  struct stat file {};
  if (fstat(descriptor, &file) != 0) {
    return Refused(flag, path, std::strerror(errno), accepted);
  }
  if (!S_ISREG(file.st_mode)) {
    return Refused(flag, path, "not a regular file", accepted);
  }
  opened.size_ = static_cast<uint64_t>(file.st_size);
  return opened;
}

BinaryFile::BinaryFile(int descriptor, std::string flag, std::string path,
                       std::string accepted)
    : descriptor_(descriptor),
      flag_(std::move(flag)),
      path_(std::move(path)),
      accepted_(std::move(accepted)) {}

BinaryFile::BinaryFile(BinaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      flag_(std::move(other.flag_)),
      path_(std::move(other.path_)),
      accepted_(std::move(other.accepted_)),
      size_(other.size_) {}

BinaryFile::~BinaryFile() {
  // Only ever read from: a failed close loses nothing.
  if (descriptor_ >= 0) static_cast<void>(close(descriptor_));
}

absl::Status BinaryFile::ReadAt(uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Refused(flag_, path_, std::strerror(errno), accepted_);
    if (count == 0) {
      return Refused(flag_, path_, absl::StrCat("ends at byte ", offset), accepted_);
    }
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace evenpack
