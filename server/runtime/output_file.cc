#include "server/runtime/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/write_all.h"

namespace evenpack {
namespace {

constexpr mode_t kPermissions = 07777;

mode_t ModeOfNewFiles() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Open(absl::string_view flag,
                                            const std::string& path) {
  OutputFile file(flag, path);
  if (absl::Status status = file.OpenPath(); !status.ok()) return status;
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : flag_(other.flag_),
      path_(other.path_),
      unfinished_(std::exchange(other.unfinished_, "")),
      target_(std::move(other.target_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

absl::Status OutputFile::Refused() const {
  return absl::InvalidArgumentError(
      absl::StrCat(flag_, ": '", path_, "' can't be written: ", std::strerror(errno),
                   "; accepted: a file in a directory that may be written"));
}

absl::Status OutputFile::OpenPath() {
  struct stat found {};
  if (stat(path_.c_str(), &found) != 0) return OpenBeside(path_, ModeOfNewFiles());
  if (!S_ISREG(found.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    return descriptor_ >= 0 ? absl::OkStatus() : Refused();
  }
  char real[PATH_MAX];
  if (realpath(path_.c_str(), real) == nullptr) return Refused();
  return OpenBeside(real, found.st_mode & kPermissions);
}

absl::Status OutputFile::OpenBeside(const std::string& target, unsigned mode) {
  std::string unfinished = absl::StrCat(target, ".XXXXXX");
  descriptor_ = mkostemp(unfinished.data(), O_CLOEXEC);
  if (descriptor_ < 0) return Refused();
  unfinished_ = std::move(unfinished);
  target_ = target;
  return fchmod(descriptor_, mode) == 0 ? absl::OkStatus() : Refused();
}

absl::Status OutputFile::Commit(absl::string_view bytes) {
  if (!WriteAll(descriptor_, bytes)) return Refused();
  if (unfinished_.empty()) return absl::OkStatus();
  if (fsync(descriptor_) != 0 || rename(unfinished_.c_str(), target_.c_str()) != 0) {
    return Refused();
  }
  unfinished_.clear();
  return absl::OkStatus();
}

}  // namespace evenpack
