#include "server/tls/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/write_all.h"

namespace evenpack {

absl::Status MemoryFile::Replace(const std::string& text) {
  FileDescriptor next(memfd_create("evenpack", MFD_CLOEXEC));
  if (!next.valid()) return absl::ErrnoToStatus(errno, "memory file");
  const timespec change = {++changes_, 0};
  const timespec times[] = {change, change};
  if (!WriteAll(next.get(), text) || futimens(next.get(), times) != 0) {
    return absl::ErrnoToStatus(errno, "memory file");
  }
  if (!file_.valid()) {
    file_ = std::move(next);
    return absl::OkStatus();
  }
  // The path names the descriptor: it is another file at once.
  if (dup3(next.get(), file_.get(), O_CLOEXEC) < 0) {
    return absl::ErrnoToStatus(errno, "memory file");
  }
  return absl::OkStatus();
}

std::string MemoryFile::path() const {
  return file_.valid() ? absl::StrCat("/proc/self/fd/", file_.get()) : "";
}

}  // namespace evenpack
