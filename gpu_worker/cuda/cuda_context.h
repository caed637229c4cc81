// A device of this process.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_CONTEXT_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_CONTEXT_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/cuda/cuda_driver.h"

namespace evenpack::worker {

// As the device has it, whatever its number is in a process.
using DeviceUuid = std::array<uint8_t, 16>;

// The primary context, which the process's other users of the device share.
// Thread-safe.
class CudaContext {
 public:
  // `number`: of the device, among those that the process sees. INTERNAL: there is
  // none.
  static absl::StatusOr<std::shared_ptr<const CudaContext>> Open(
      std::shared_ptr<const CudaDriver> driver, int number);
  // FAILED_PRECONDITION: the process sees no such device.
  static absl::StatusOr<std::shared_ptr<const CudaContext>> Open(
      std::shared_ptr<const CudaDriver> driver, const DeviceUuid& uuid);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const cuda::Functions& functions() const { return driver_->functions(); }
  int device() const { return device_; }
  cuda::Context handle() const { return handle_; }
  absl::StatusOr<DeviceUuid> Uuid() const;
  absl::Status Check(cuda::Result result, absl::string_view what) const {
    return driver_->Check(result, what);
  }

 private:
  CudaContext(std::shared_ptr<const CudaDriver> driver, cuda::DeviceNumber device,
              cuda::Context handle);

  const std::shared_ptr<const CudaDriver> driver_;
  const cuda::DeviceNumber device_;
  cuda::Context handle_;
};

// While it lives, what the calling thread asks of the driver is for that context.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context)
      : context_(context),
        is_pushed_(context.functions().cuCtxPushCurrent_v2(context.handle()) ==
                   cuda::kSuccess) {}
  ~CurrentContext() {
    // Else it would be the caller's.
    if (!is_pushed_) return;
    cuda::Context popped = nullptr;
    context_.functions().cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaContext& context_;
  const bool is_pushed_;
};

// While it lives, the calling thread may ask the driver what a graph that another one
// captures needs nothing of, such as whether an event of before is reached, and may
// wait for one. Else the driver may refuse that, and the capture, which is of PyTorch's
// default mode, is lost.
class BesideCaptures {
 public:
  explicit BesideCaptures(const CudaContext& context) : context_(context) {
    context_.functions().cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~BesideCaptures() { context_.functions().cuThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  const CudaContext& context_;
  // Then what the thread's was.
  int mode_ = cuda::kCaptureRelaxed;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_CONTEXT_H_
