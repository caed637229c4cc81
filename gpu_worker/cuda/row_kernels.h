// The kernels of row_kernels.cu on a device.
#ifndef EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_
#define EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/cuda/cuda_context.h"

namespace evenpack::worker {

// As nvcc made them; empty where it was built without.
std::span<const unsigned char> RowKernelImage();

// Thread-safe.
class RowKernels {
 public:
  // FAILED_PRECONDITION: the image is empty. INTERNAL: it is not for this device.
  static absl::StatusOr<std::unique_ptr<RowKernels>> Load(
      std::shared_ptr<const CudaContext> context,
      std::span<const unsigned char> image = RowKernelImage());
  ~RowKernels();
  RowKernels(const RowKernels&) = delete;
  RowKernels& operator=(const RowKernels&) = delete;

  // As Device::AddRows and Device::Convert, in the order of the stream.
  absl::Status AddRows(const float* from, size_t columns,
                       std::span<const RowRange> ranges, const FloatRows& sums,
                       cuda::Stream stream) const;
  absl::Status Convert(ElementType type, const float* from, size_t count, void* to,
                       cuda::Stream stream) const;

 private:
  explicit RowKernels(std::shared_ptr<const CudaContext> context);

  absl::Status LoadImage(std::span<const unsigned char> image);
  absl::Status Launch(cuda::Kernel kernel, uint64_t blocks, void* argument,
                      cuda::Stream stream) const;

  const std::shared_ptr<const CudaContext> context_;
  cuda::Library library_ = nullptr;
  cuda::Kernel add_rows_ = nullptr;
  cuda::Kernel convert_ = nullptr;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_
