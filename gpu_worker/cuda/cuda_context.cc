#include "gpu_worker/cuda/cuda_context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

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

}  // namespace evenpack::worker
