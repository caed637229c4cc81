// The kernels of row_kernels.cu on a device.
#ifndef EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_
#define EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/device/row_sums.h"

namespace evenpack::worker {

// As nvcc made them; empty where it was built without.
std::span<const unsigned char> RowKernelImage();

// Thread-safe. Streams must be done with what it gave them when it goes: kernels' code
// goes with it.
class RowKernels {
 public:
  // FAILED_PRECONDITION: the image is empty. INTERNAL: it is not for this device.
  static absl::StatusOr<std::unique_ptr<RowKernels>> Load(
      std::shared_ptr<const CudaContext> context,
      std::span<const unsigned char> image = RowKernelImage());
  ~RowKernels();
  RowKernels(const RowKernels&) = delete;
  RowKernels& operator=(const RowKernels&) = delete;

  // As Device::CopyRows, in the order of the stream, as all that follow.
  absl::Status CopyRows(std::span<const RowCopy> copies, cuda::Stream stream) const;
  // Adds to what is there, in single precision, rows of one type to rows of another;
  // row_bytes are those of the former. Sums are rounded as Store does. No row is both
  // read and written, and none written twice.
  absl::Status AddRows(std::span<const RowCopy> sums, ElementType from, ElementType to,
                       cuda::Stream stream) const;
  // As Device::SumRows, of at most kTermsOfSums terms (row_kernel_arguments.h).
  absl::Status SumRows(std::span<const RowTerm> terms, const RowSums& sums,
                       cuda::Stream stream) const;
  // 0: notes the time in `clock`, of the device's memory; else the stream goes on once
  // that long has passed since then.
  absl::Status Pace(uint64_t* clock, std::chrono::nanoseconds at_least,
                    cuda::Stream stream) const;

 private:
  explicit RowKernels(std::shared_ptr<const CudaContext> context);

  absl::Status LoadImage(std::span<const unsigned char> image);
  // `tensors`: each has so many blocks.
  absl::Status Launch(cuda::Kernel kernel, uint64_t blocks, void* argument,
                      cuda::Stream stream, unsigned tensors = 1) const;
  absl::Status LaunchRows(cuda::Kernel kernel, std::span<const RowCopy> rows,
                          ElementType from, ElementType to, cuda::Stream stream) const;

  const std::shared_ptr<const CudaContext> context_;
  cuda::Library library_ = nullptr;
  cuda::Kernel copy_rows_ = nullptr;
  cuda::Kernel add_rows_ = nullptr;
  cuda::Kernel sum_rows_ = nullptr;
  cuda::Kernel pace_ = nullptr;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_ROW_KERNELS_H_
