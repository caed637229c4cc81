#include "server/tls/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "server/runtime/write_all.h"

namespace evenpack {

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status MemoryFile::Replace(const std::string& text) {
  const int next = memfd_create("evenpack", MFD_CLOEXEC);
  if (next < 0) return absl::ErrnoToStatus(errno, "memory file");
  const timespec change = {++changes_, 0};
  const timespec times[] = {change, change};
  bool done = WriteAll(next, text) && futimens(next, times) == 0;
  // The path names the descriptor: it is another file at once.
  if (done && fd_ >= 0) {
    done = dup3(next, fd_, O_CLOEXEC) >= 0;
    close(next);
  } else if (done) {
    fd_ = next;
  }
  if (done) return absl::OkStatus();
  absl::Status status = absl::ErrnoToStatus(errno, "memory file");
  if (next != fd_) close(next);
  return status;
}

std::string MemoryFile::path() const {
  return fd_ < 0 ? "" : absl::StrCat("/proc/self/fd/", fd_);
}

}  // namespace evenpack
