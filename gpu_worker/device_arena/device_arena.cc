#include "gpu_worker/device_arena/device_arena.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/shared_device_memory.h"

namespace evenpack::worker {
namespace {

class DeviceTensorMemory final : public TensorMemory {
 public:
  DeviceTensorMemory(std::unique_ptr<SharedDeviceMemory> memory,
                     const DeviceUuid& device)
      : memory_(std::move(memory)), device_(device) {}

  char* data() const override { return static_cast<char*>(memory_->data()); }
  uint64_t bytes() const override { return memory_->size(); }
  int descriptor() const override { return memory_->descriptor(); }
  DeviceUuid device() const override { return device_; }

 private:
  const std::unique_ptr<SharedDeviceMemory> memory_;
  const DeviceUuid device_;
};

}  // namespace

absl::StatusOr<Arena> CreateDeviceArena(std::shared_ptr<const CudaContext> context,
                                        uint64_t data_bytes, uint64_t most_bytes) {
  if (absl::Status status = CheckArenaBytes(data_bytes); !status.ok()) return status;
  const absl::StatusOr<size_t> taken =
      SharedDeviceMemory::RoundedUp(*context, data_bytes);
  if (!taken.ok()) return taken.status();
  if (*taken > most_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "arena_bytes: ", data_bytes, " take ", *taken,
        " of the device; accepted: up to ", most_bytes, " (--memory of the worker)"));
  }
  const absl::StatusOr<DeviceUuid> device = context->Uuid();
  if (!device.ok()) return device.status();
  absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> memory =
      SharedDeviceMemory::Create(std::move(context), data_bytes);
  if (!memory.ok()) return memory.status();
  return Arena::Create(
      std::make_unique<DeviceTensorMemory>(*std::move(memory), *device));
}

MapTensors MapOnDevice(std::shared_ptr<const CudaDriver> driver) {
  return
      [driver = std::move(driver)](
          FileDescriptor descriptor, uint64_t bytes,
          const DeviceUuid& device) -> absl::StatusOr<std::unique_ptr<TensorMemory>> {
        absl::StatusOr<std::shared_ptr<const CudaContext>> context =
            CudaContext::Open(driver, device);
        if (!context.ok()) return context.status();
        absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> memory =
            SharedDeviceMemory::Import(*std::move(context), descriptor, bytes);
        if (!memory.ok()) return memory.status();
        return std::make_unique<DeviceTensorMemory>(*std::move(memory), device);
      };
}

}  // namespace evenpack::worker
