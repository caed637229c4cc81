#include "gpu_worker/cuda/cuda_device.h"

#include <utility>

namespace evenpack::worker {
namespace {

class OwnedMemory final : public DeviceMemory {
 public:
  explicit OwnedMemory(CudaBuffer buffer)
      : DeviceMemory(buffer.data()), buffer_(std::move(buffer)) {}

 private:
  const CudaBuffer buffer_;
};

cuda::DevicePointer At(const void* data) {
  return reinterpret_cast<cuda::DevicePointer>(data);
}

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<const CudaContext> context,
                       std::shared_ptr<CudaMemory> memory, cuda::Stream compute,
                       std::unique_ptr<RowKernels> kernels)
    : context_(std::move(context)),
      memory_(std::move(memory)),
      compute_(compute),
      kernels_(std::move(kernels)),
      marks_(context_) {}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(
    std::shared_ptr<const CudaContext> context, std::shared_ptr<CudaMemory> memory,
    cuda::Stream compute, std::span<const unsigned char> kernels) {
  absl::StatusOr<std::unique_ptr<RowKernels>> loaded =
      RowKernels::Load(context, kernels);
  if (!loaded.ok()) return loaded.status();
  return std::unique_ptr<CudaDevice>(new CudaDevice(
      std::move(context), std::move(memory), compute, *std::move(loaded)));
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaDevice::Allocate(size_t bytes) {
  absl::StatusOr<CudaBuffer> buffer = memory_->Take(bytes, compute_);
  if (!buffer.ok()) return buffer.status();
  return std::make_unique<OwnedMemory>(*std::move(buffer));
}

absl::Status CudaDevice::Zero(void* data, size_t row_bytes, size_t stride,
                              uint64_t rows) {
  if (rows == 0 || row_bytes == 0) return absl::OkStatus();
  const CurrentContext current(*context_);
  const cuda::Functions& call = context_->functions();
  const bool is_in_one_piece = stride == row_bytes || rows == 1;
  return context_->Check(
      is_in_one_piece
          ? call.cuMemsetD8Async(At(data), 0, rows * row_bytes, compute_)
          : call.cuMemsetD2D8Async(At(data), stride, 0, row_bytes, rows, compute_),
      "to set rows to 0");
}

absl::Status CudaDevice::CopyRows(std::span<const RowCopy> copies) {
  return kernels_->CopyRows(copies, compute_);
}

absl::Status CudaDevice::AddRows(std::span<const RowCopy> sums) {
  return kernels_->AddRows(sums, ElementType::kFloat32, ElementType::kFloat32,
                           compute_);
}

absl::Status CudaDevice::Convert(ElementType type, const float* from, size_t count,
                                 void* to) {
  return kernels_->Convert(type, from, count, to, compute_);
}

absl::Status CudaDevice::CopyFromHost(const void* from, size_t bytes, void* to) {
  if (bytes == 0) return absl::OkStatus();
  const CurrentContext current(*context_);
  absl::Status status = context_->Check(
      context_->functions().cuMemcpyHtoDAsync_v2(At(to), from, bytes, compute_),
      "to copy from the host");
  return status.ok() ? Finish() : status;
}

absl::Status CudaDevice::CopyToHost(const void* from, size_t bytes, void* to) {
  if (bytes == 0) return absl::OkStatus();
  const CurrentContext current(*context_);
  absl::Status status = context_->Check(
      context_->functions().cuMemcpyDtoHAsync_v2(to, At(from), bytes, compute_),
      "to copy to the host");
  return status.ok() ? Finish() : status;
}

absl::StatusOr<std::unique_ptr<DeviceMark>> CudaDevice::Mark() {
  return marks_.After(compute_);
}

absl::Status CudaDevice::Finish() {
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuStreamSynchronize(compute_),
                         "while it worked");
}

}  // namespace evenpack::worker
