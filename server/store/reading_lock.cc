#include "server/store/reading_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite_database.h"

namespace evenpack {
namespace {

// Of a reader, and of whoever has the file for itself.
constexpr off_t kFirstByte = 0x40000002;
constexpr off_t kBytes = 510;

}  // namespace

ReadingLock::ReadingLock(const std::string& path, FileDescriptor file)
    : file_(std::move(file)), index_(path + "-shm") {
  if (access(index_.c_str(), F_OK) == 0) index_.clear();
}

ReadingLock::~ReadingLock() {
  if (!index_.empty()) unlink(index_.c_str());
}

absl::StatusOr<std::unique_ptr<ReadingLock>> ReadingLock::Take(
    const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat("store: '", path, "' can't be opened: ", std::strerror(errno),
                     "; accepted: a file that may be read"));
  }
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirstByte;
  lock.l_len = kBytes;
  if (fcntl(file.get(), F_OFD_SETLK, &lock) == 0) {
    return std::unique_ptr<ReadingLock>(new ReadingLock(path, std::move(file)));
  }
  if (errno == EAGAIN || errno == EACCES) return FileInUse();
  return absl::UnavailableError(
      absl::StrCat("store: '", path, "' can't be locked: ", std::strerror(errno)));
}

}  // namespace evenpack
