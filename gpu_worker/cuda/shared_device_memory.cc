#include "gpu_worker/cuda/shared_device_memory.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

cuda::AllocationProperties PropertiesOn(const CudaContext& context) {
  cuda::AllocationProperties properties;
  properties.location_id = context.device();
  return properties;
}

absl::Status Refused(const absl::Status& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(why.message(),
                   "; accepted: a descriptor of as much memory of this "
                   "device, which another process has made"));
}

}  // namespace

SharedDeviceMemory::SharedDeviceMemory(std::shared_ptr<const CudaContext> context,
                                       size_t bytes)
    : context_(std::move(context)), bytes_(bytes) {}

absl::StatusOr<size_t> SharedDeviceMemory::RoundedUp(const CudaContext& context,
                                                     size_t bytes) {
  const CurrentContext current(context);
  const cuda::AllocationProperties properties = PropertiesOn(context);
  size_t unit = 0;
  absl::Status status =
      context.Check(context.functions().cuMemGetAllocationGranularity(
                        &unit, &properties, cuda::kGranularityMinimum),
                    "to tell what it maps at once");
  if (!status.ok()) return status;
  if (bytes > std::numeric_limits<size_t>::max() - unit) {
    return InvalidField("bytes", bytes, "what a device can have");
  }
  return (bytes + unit - 1) / unit * unit;
}

absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> SharedDeviceMemory::Create(
    std::shared_ptr<const CudaContext> context, size_t bytes) {
  if (bytes == 0) return InvalidField("bytes", bytes, "1 or more");
  const absl::StatusOr<size_t> rounded = RoundedUp(*context, bytes);
  if (!rounded.ok()) return rounded.status();
  std::unique_ptr<SharedDeviceMemory> memory(
      new SharedDeviceMemory(std::move(context), *rounded));
  const CurrentContext current(*memory->context_);
  absl::Status status = memory->Make();
  if (status.ok()) status = memory->Map();
  if (!status.ok()) return status;
  return memory;
}

absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> SharedDeviceMemory::Import(
    std::shared_ptr<const CudaContext> context, const FileDescriptor& descriptor,
    size_t bytes) {
  std::unique_ptr<SharedDeviceMemory> memory(
      new SharedDeviceMemory(std::move(context), bytes));
  const CurrentContext current(*memory->context_);
  // The driver takes the number of the descriptor for a pointer.
  void* const shareable = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      static_cast<intptr_t>(descriptor.get()));
  absl::Status status = memory->context_->Check(
      memory->context_->functions().cuMemImportFromShareableHandle(
          &memory->handle_, shareable, cuda::kHandlePosixFile),
      absl::StrCat("to take memory by descriptor ", descriptor.get()));
  if (status.ok()) status = memory->Map();
  if (!status.ok()) return Refused(status);
  return memory;
}

absl::Status SharedDeviceMemory::Make() {
  const cuda::Functions& call = context_->functions();
  const cuda::AllocationProperties properties = PropertiesOn(*context_);
  absl::Status status =
      context_->Check(call.cuMemCreate(&handle_, bytes_, &properties, 0),
                      absl::StrCat("to give ", bytes_, " bytes to share"));
  if (!status.ok()) return status;
  int descriptor = -1;
  status = context_->Check(call.cuMemExportToShareableHandle(&descriptor, handle_,
                                                             cuda::kHandlePosixFile, 0),
                           "to make a descriptor of its memory");
  descriptor_ = FileDescriptor(descriptor);
  return status;
}

absl::Status SharedDeviceMemory::Map() {
  const cuda::Functions& call = context_->functions();
  absl::Status status =
      context_->Check(call.cuMemAddressReserve(&reserved_, bytes_, 0, 0, 0),
                      absl::StrCat("to reserve addresses for ", bytes_, " bytes"));
  if (!status.ok()) return status;
  status = context_->Check(call.cuMemMap(reserved_, bytes_, 0, handle_, 0),
                           absl::StrCat("to map ", bytes_, " bytes"));
  if (!status.ok()) return status;
  mapped_ = true;
  cuda::AccessDescription access;
  access.location_id = context_->device();
  return context_->Check(call.cuMemSetAccess(reserved_, bytes_, &access, 1),
                         "to give access to its memory");
}

SharedDeviceMemory::~SharedDeviceMemory() {
  const CurrentContext current(*context_);
  const cuda::Functions& call = context_->functions();
  if (mapped_) call.cuMemUnmap(reserved_, bytes_);
  if (reserved_ != 0) call.cuMemAddressFree(reserved_, bytes_);
  if (handle_ != 0) call.cuMemRelease(handle_);
}

void* SharedDeviceMemory::data() const {
  // The driver's addresses are those of the process.
  return reinterpret_cast<void*>(reserved_);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace evenpack::worker
