// A file of numbers, which is read at any place of it.
#ifndef EVENPACK_CLIENT_CLI_BINARY_FILE_H_
#define EVENPACK_CLIENT_CLI_BINARY_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack {

// Thread-safe.
class BinaryFile {
 public:
  // `flag` is what the user named the file with, `accepted` what it should be: both are
  // for messages. INVALID_ARGUMENT naming flag and path where it can't be opened, or is
  // no regular file.
  static absl::StatusOr<BinaryFile> Open(const std::string& flag,
                                         const std::string& path,
                                         const std::string& accepted);
  ~BinaryFile();
  BinaryFile(BinaryFile&& other) noexcept;
  BinaryFile& operator=(BinaryFile&&) = delete;

  const std::string& path() const { return path_; }
  // Bytes that it had when it was opened.
  uint64_t size() const { return size_; }

  // Fills `bytes` from those at `offset` on. INVALID_ARGUMENT where the file ends
  // before, or can't be read.
  absl::Status ReadAt(uint64_t offset, std::span<char> bytes) const;

 private:
  BinaryFile(int descriptor, std::string flag, std::string path, std::string accepted);

  int descriptor_;
  std::string flag_;
  std::string path_;
  std::string accepted_;
  uint64_t size_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_BINARY_FILE_H_
