#include "client/cli/number_column.h"

#include <algorithm>
#include <utility>

namespace evenpack {
namespace {

constexpr uint64_t kNumbersPerBlock = 32'768;

}  // namespace

int64_t LittleEndian(const char* bytes, size_t width) {
  uint64_t number = 0;
  for (size_t i = 0; i < width; ++i) {
    number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  // The sign's bit moves to the top, and back over all above it.
  const size_t above = 64 - 8 * width;
  return static_cast<int64_t>(number << above) >> above;
}

NumberColumn::NumberColumn(std::shared_ptr<const BinaryFile> file, uint64_t offset,
                           uint64_t count, size_t width)
    : file_(std::move(file)), offset_(offset), count_(count), width_(width) {}

absl::StatusOr<int64_t> NumberColumn::Next() {
  if (next_ == block_.size()) {
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
  const int64_t number = LittleEndian(block_.data() + next_, width_);
  next_ += width_;
  ++position_;
  return number;
}

absl::Status NumberColumn::Fill() {
  const uint64_t numbers = std::min(kNumbersPerBlock, count_ - position_);
  block_.resize(static_cast<size_t>(numbers) * width_);
  next_ = 0;
  return file_->ReadAt(offset_ + position_ * width_, block_);
}

}  // namespace evenpack
