// A file descriptor that is closed when its owner goes.
#ifndef EVENPACK_SERVER_WEB_FILE_DESCRIPTOR_H_
#define EVENPACK_SERVER_WEB_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace evenpack {

class FileDescriptor {
 public:
  // Negative means none, so that a system call's result can be passed on.
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  // What it had is closed at once.
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    FileDescriptor taken(std::move(other));
    std::swap(fd_, taken.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // What it was, which is the caller's to close.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_FILE_DESCRIPTOR_H_
