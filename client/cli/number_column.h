// Numbers that lie behind one another in a file.
#ifndef EVENPACK_CLIENT_CLI_NUMBER_COLUMN_H_
#define EVENPACK_CLIENT_CLI_NUMBER_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/binary_file.h"

namespace evenpack {

// The number in two's complement that `width` bytes, 1 to 8, are: the lowest first.
int64_t LittleEndian(const char* bytes, size_t width);

// Reads one after another, and holds one block of them at a time. Not thread-safe.
class NumberColumn {
 public:
  // `count` numbers of `width` bytes, 1 to 8, from `offset` on, as LittleEndian has
  // them.
  NumberColumn(std::shared_ptr<const BinaryFile> file, uint64_t offset, uint64_t count,
               size_t width);

  uint64_t count() const { return count_; }
  // How many were read.
  uint64_t position() const { return position_; }
  // The next number; position() < count(). Errors as BinaryFile::ReadAt.
  absl::StatusOr<int64_t> Next();
  // Where the latest number is in the file.
  uint64_t latest_offset() const { return offset_ + (position_ - 1) * width_; }

 private:
  absl::Status Fill();

  std::shared_ptr<const BinaryFile> file_;
  uint64_t offset_;
  uint64_t count_;
  size_t width_;
  uint64_t position_ = 0;
  std::vector<char> block_;
  size_t next_ = 0;  // the next number's first byte, within the block
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_NUMBER_COLUMN_H_
