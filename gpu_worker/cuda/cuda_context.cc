#include "gpu_worker/cuda/cuda_context.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

absl::StatusOr<DeviceUuid> UuidOf(const CudaDriver& driver, cuda::DeviceNumber device) {
  cuda::Uuid found;
  absl::Status status = driver.Check(
      driver.functions().cuDeviceGetUuid_v2(&found, device), "to tell its UUID");
  if (!status.ok()) return status;
  DeviceUuid uuid;
  std::copy(std::begin(found.bytes), std::end(found.bytes), uuid.begin());
  return uuid;
}

}  // namespace

CudaContext::CudaContext(std::shared_ptr<const CudaDriver> driver,
                         cuda::DeviceNumber device, cuda::Context handle)
    : driver_(std::move(driver)), device_(device), handle_(handle) {}

CudaContext::~CudaContext() { functions().cuDevicePrimaryCtxRelease_v2(device_); }

absl::StatusOr<std::shared_ptr<const CudaContext>> CudaContext::Open(
    std::shared_ptr<const CudaDriver> driver, int number) {
  const cuda::Functions& call = driver->functions();
  cuda::DeviceNumber device = 0;
  cuda::Context handle = nullptr;
  absl::Status status = driver->Check(call.cuDeviceGet(&device, number),
                                      absl::StrCat("to be found as device ", number));
  if (status.ok()) {
    status = driver->Check(call.cuDevicePrimaryCtxRetain(&handle, device),
                           absl::StrCat("to be opened as device ", number));
  }
  if (!status.ok()) return status;
  return std::shared_ptr<const CudaContext>(
      new CudaContext(std::move(driver), device, handle));
}

absl::StatusOr<std::shared_ptr<const CudaContext>> CudaContext::Open(
    std::shared_ptr<const CudaDriver> driver, const DeviceUuid& uuid) {
  int count = 0;
  absl::Status status =
      driver->Check(driver->functions().cuDeviceGetCount(&count), "to be counted");
  if (!status.ok()) return status;
  for (int number = 0; number < count; ++number) {
    cuda::DeviceNumber device = 0;
    status = driver->Check(driver->functions().cuDeviceGet(&device, number),
                           absl::StrCat("to be found as device ", number));
    if (!status.ok()) return status;
    const absl::StatusOr<DeviceUuid> found = UuidOf(*driver, device);
    if (!found.ok()) return found.status();
    if (*found == uuid) return Open(std::move(driver), number);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "none of the ", count, " devices that this process sees has the UUID ",
      absl::BytesToHexString(
          absl::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size())),
      "; accepted: a process that sees the worker's device (CUDA_VISIBLE_DEVICES)"));
}

absl::StatusOr<DeviceUuid> CudaContext::Uuid() const {
  return UuidOf(*driver_, device_);
}

}  // namespace evenpack::worker
