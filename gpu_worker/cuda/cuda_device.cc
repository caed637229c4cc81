#include "gpu_worker/cuda/cuda_device.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/row_kernel_arguments.h"

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

// An error is as good an end.
CudaDevice::~CudaDevice() { CudaDevice::Finish().IgnoreError(); }

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

absl::Status CudaDevice::SumRows(std::span<const RowTerm> terms, const RowSums& sums) {
  if (terms.size() <= kTermsOfSums) return kernels_->SumRows(terms, sums, compute_);
  // The first ones in single precision, which then are a term before the others.
  const size_t bytes = sums.rows * sums.columns * sizeof(float);
  const absl::StatusOr<CudaBuffer> memory = memory_->Take(2 * bytes, compute_);
  if (!memory.ok()) return memory.status();
  auto* const data = static_cast<std::byte*>(memory->data());
  RowSums first = {ElementType::kFloat32,
                   {data, data + bytes},
                   sums.columns * sizeof(float),
                   sums.columns,
                   sums.rows};
  absl::Status status = kernels_->SumRows(terms.first(kTermsOfSums), first, compute_);
  if (!status.ok()) return status;
  const RowMove all = {0, 0, sums.rows};
  std::vector<RowTerm> rest = {
      {first.type, {data, data + bytes}, first.stride, {&all, 1}}};
  terms = terms.subspan(kTermsOfSums);
  rest.insert(rest.end(), terms.begin(), terms.end());
  return SumRows(rest, sums);
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

absl::Status CudaDevice::Finish() { return Synchronize(*context_, compute_); }

}  // namespace evenpack::worker
