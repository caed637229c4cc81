// Keeps servers off a store's file while it is read.
#ifndef EVENPACK_SERVER_STORE_READING_LOCK_H_
#define EVENPACK_SERVER_STORE_READING_LOCK_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

// As SQLite's own lock of a reader is, on the same bytes of the file ("Database File
// Format", 1.4), but held whatever SQLite does with the file. When it goes, so do an
// index of the log that wasn't there before (which would be this user's), and what
// locks this process has on the file by other descriptors (POSIX): no server's store
// may be open in it.
class ReadingLock {
 public:
  // FAILED_PRECONDITION: a server has the file, or it can't be opened. UNAVAILABLE: its
  // disk has no locks.
  static absl::StatusOr<std::unique_ptr<ReadingLock>> Take(const std::string& path);
  ~ReadingLock();
  ReadingLock(const ReadingLock&) = delete;
  ReadingLock& operator=(const ReadingLock&) = delete;

 private:
  ReadingLock(const std::string& path, FileDescriptor file);

  const FileDescriptor file_;
  // SQLite's "-shm"; empty: it was there.
  std::string index_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_READING_LOCK_H_
