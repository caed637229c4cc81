#include "gpu_worker/device/host_device.h"

#include <cstring>
#include <new>

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

void AddRow(const float* values, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += values[i];
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

absl::Status HostDevice::AddRows(std::span<const RowCopy> sums) {
  for (const RowCopy& sum : sums) {
    for (uint64_t row = 0; row < sum.rows; ++row) {
      const void* const from =
          static_cast<const char*>(sum.from) + row * sum.from_stride;
      void* const to = static_cast<char*>(sum.to) + row * sum.to_stride;
      AddRow(static_cast<const float*>(from), sum.row_bytes / sizeof(float),
             static_cast<float*>(to));
    }
  }
  return absl::OkStatus();
}

absl::Status HostDevice::Convert(ElementType type, const float* from, size_t count,
                                 void* to) {
  Store(type, from, count, to);
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
