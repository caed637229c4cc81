#include "gpu_worker/device/host_device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

// A line of the cache.
constexpr std::align_val_t kAlignment{64};

class HostMemory final : public DeviceMemory {
 public:
  using DeviceMemory::DeviceMemory;
  ~HostMemory() override { ::operator delete(data(), kAlignment); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
};

// The term's row that goes to a row of the sums; null where none does.
const void* RowOf(const RowTerm& term, size_t tensor, uint64_t row) {
  auto move = std::partition_point(term.moves.begin(), term.moves.end(),
                                   [row](const RowMove& of) { return of.to <= row; });
  if (move == term.moves.begin()) return nullptr;
  --move;
  if (row - move->to >= move->count) return nullptr;
  return static_cast<const char*>(term.tensors[tensor]) +
         (move->from + (row - move->to)) * term.stride;
}

void AddRow(const std::vector<float>& values, std::vector<float>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
}

}  // namespace

Device& Device::Host() {
  static HostDevice device;
  return device;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> HostDevice::Allocate(size_t bytes) {
  void* data = nullptr;
  if (bytes > 0) {
    data = ::operator new(bytes, kAlignment, std::nothrow);
    if (data == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this process has no ", bytes, " bytes more"));
    }
  }
  return std::make_unique<HostMemory>(data);
}

absl::Status HostDevice::Zero(void* data, size_t row_bytes, size_t stride,
                              uint64_t rows) {
  if (rows == 0 || row_bytes == 0) return absl::OkStatus();
  if (stride == row_bytes) {
    std::memset(data, 0, rows * row_bytes);
    return absl::OkStatus();
  }
  for (uint64_t row = 0; row < rows; ++row) {
    std::memset(static_cast<char*>(data) + row * stride, 0, row_bytes);
  }
  return absl::OkStatus();
}

absl::Status HostDevice::CopyRows(std::span<const RowCopy> copies) {
  worker::CopyRows(copies);
  return absl::OkStatus();
}

absl::Status HostDevice::SumRows(std::span<const RowTerm> terms, const RowSums& sums) {
  std::vector<float> sum(sums.columns);
  std::vector<float> added(sums.columns);
  for (size_t tensor = 0; tensor < sums.tensors.size(); ++tensor) {
    for (uint64_t row = 0; row < sums.rows; ++row) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (const RowTerm& term : terms) {
        const void* const from = RowOf(term, tensor, row);
        if (from == nullptr) continue;
        Load(term.type, from, sums.columns, added.data());
        AddRow(added, sum);
      }
      Store(sums.type, sum.data(), sums.columns,
            static_cast<char*>(sums.tensors[tensor]) + row * sums.stride);
    }
  }
  return absl::OkStatus();
}

absl::Status HostDevice::CopyFromHost(const void* from, size_t bytes, void* to) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status HostDevice::CopyToHost(const void* from, size_t bytes, void* to) {
  return CopyFromHost(from, bytes, to);
}

}  // namespace evenpack::worker
