// A CUDA device's memory, and the stream that a rank computes in.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_DEVICE_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_marks.h"
#include "gpu_worker/cuda/cuda_memory.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/cuda/row_kernels.h"
#include "gpu_worker/device/device.h"

namespace evenpack::worker {

// Works in the order of its stream, which is also that of the engine and the compute
// stream of the communicator.
class CudaDevice final : public Device {
 public:
  // `compute` must outlive it: its end waits for that. Errors as RowKernels::Load.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Create(
      std::shared_ptr<const CudaContext> context, std::shared_ptr<CudaMemory> memory,
      cuda::Stream compute, std::span<const unsigned char> kernels = RowKernelImage());

  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  // Errors of CudaMemory::Take.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes) override;
  absl::Status Zero(void* data, size_t row_bytes, size_t stride,
                    uint64_t rows) override;
  absl::Status CopyRows(std::span<const RowCopy> copies) override;
  absl::Status SumRows(std::span<const RowTerm> terms, const RowSums& sums) override;
  absl::StatusOr<std::unique_ptr<DeviceMark>> Mark() override;
  absl::Status Finish() override;
  absl::Status CopyFromHost(const void* from, size_t bytes, void* to) override;
  absl::Status CopyToHost(const void* from, size_t bytes, void* to) override;

 private:
  CudaDevice(std::shared_ptr<const CudaContext> context,
             std::shared_ptr<CudaMemory> memory, cuda::Stream compute,
             std::unique_ptr<RowKernels> kernels);

  const std::shared_ptr<const CudaContext> context_;
  const std::shared_ptr<CudaMemory> memory_;
  cuda::Stream compute_;
  const std::unique_ptr<RowKernels> kernels_;
  CudaMarks marks_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_DEVICE_H_
