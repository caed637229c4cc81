#include "gpu_worker/cuda/row_kernels.h"

#include <utility>

#include "gpu_worker/cuda/row_kernel_arguments.h"

namespace evenpack::worker {
namespace {

// Of a grid.
constexpr uint64_t kMostBlocks = 0x7fffffff;

}  // namespace

RowKernels::RowKernels(std::shared_ptr<const CudaContext> context)
    : context_(std::move(context)) {}

RowKernels::~RowKernels() {
  if (library_ == nullptr) return;
  const CurrentContext current(*context_);
  context_->functions().cuLibraryUnload(library_);
}

absl::StatusOr<std::unique_ptr<RowKernels>> RowKernels::Load(
    std::shared_ptr<const CudaContext> context, std::span<const unsigned char> image) {
  if (image.empty()) {
    return absl::FailedPreconditionError(
        "this program has no kernels for a device; accepted: one that is built where "
        "CMake finds nvcc");
  }
  std::unique_ptr<RowKernels> kernels(new RowKernels(std::move(context)));
  if (absl::Status status = kernels->LoadImage(image); !status.ok()) return status;
  return kernels;
}

absl::Status RowKernels::LoadImage(std::span<const unsigned char> image) {
  const CurrentContext current(*context_);
  const cuda::Functions& call = context_->functions();
  absl::Status status =
      context_->Check(call.cuLibraryLoadData(&library_, image.data(), nullptr, nullptr,
                                             0, nullptr, nullptr, 0),
                      "to load kernels");
  if (status.ok()) {
    status = context_->Check(
        call.cuLibraryGetKernel(&add_rows_, library_, "evenpack_add_rows"),
        "to find the kernel evenpack_add_rows");
  }
  if (status.ok()) {
    status = context_->Check(
        call.cuLibraryGetKernel(&convert_, library_, "evenpack_convert"),
        "to find the kernel evenpack_convert");
  }
  return status;
}

absl::Status RowKernels::Launch(cuda::Kernel kernel, uint64_t blocks, void* argument,
                                cuda::Stream stream) const {
  if (blocks == 0) return absl::OkStatus();
  if (blocks > kMostBlocks) {
    return absl::InvalidArgumentError("more rows than a grid has blocks");
  }
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuLaunchKernel(
                             kernel, static_cast<unsigned>(blocks), 1, 1,
                             kThreadsOfBlock, 1, 1, 0, stream, &argument, nullptr),
                         "to launch a kernel");
}

absl::Status RowKernels::AddRows(const float* from, size_t columns,
                                 std::span<const RowRange> ranges,
                                 const FloatRows& sums, cuda::Stream stream) const {
  absl::Status status;
  while (!ranges.empty() && status.ok()) {
    AddRowsArguments arguments{};
    arguments.from = from;
    arguments.sums = sums.data;
    arguments.columns = columns;
    arguments.stride = sums.stride;
    uint64_t rows = 0;
    for (; !ranges.empty() && arguments.ranges < kRangesOfLaunch;
         ranges = ranges.subspan(1)) {
      if (ranges.front().count == 0) continue;
      arguments.first[arguments.ranges] = rows;
      arguments.row[arguments.ranges] = ranges.front().row;
      ++arguments.ranges;
      rows += ranges.front().count;
    }
    status = Launch(add_rows_, rows, &arguments, stream);
    from += rows * columns;
  }
  return status;
}

absl::Status RowKernels::Convert(ElementType type, const float* from, size_t count,
                                 void* to, cuda::Stream stream) const {
  ConvertArguments arguments{from, to, count, static_cast<uint32_t>(type)};
  constexpr uint64_t kOfBlock = uint64_t{kThreadsOfBlock} * kFloatsOfThread;
  return Launch(convert_, (count + kOfBlock - 1) / kOfBlock, &arguments, stream);
}

}  // namespace evenpack::worker
