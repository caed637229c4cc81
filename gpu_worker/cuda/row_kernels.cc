#include "gpu_worker/cuda/row_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/row_kernel_arguments.h"

namespace evenpack::worker {
namespace {

// Of a grid.
constexpr uint64_t kMostBlocks = 0x7fffffff;

bool HasRoom(const MovedRows& of) { return of.moves < kMovesOfLaunch; }

// The number of a move of that many rows. One without rows gives way to the next, which
// begins where it does.
uint32_t Append(uint64_t rows, MovedRows& to) {
  const uint32_t move = to.moves;
  to.first[move] = to.rows;
  to.rows += rows;
  if (rows > 0) ++to.moves;
  return move;
}

uint64_t BlocksOf(const MovedRows& of) {
  return (of.rows + kRowsOfBlock - 1) / kRowsOfBlock;
}

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
  const std::pair<cuda::Kernel*, const char*> kernels[] = {
      {&copy_rows_, "evenpack_copy_rows"},
      {&add_rows_, "evenpack_add_rows"},
      {&convert_, "evenpack_convert"},
      {&pace_, "evenpack_pace"}};
  for (const auto& [kernel, name] : kernels) {
    if (!status.ok()) break;
    status = context_->Check(call.cuLibraryGetKernel(kernel, library_, name),
                             absl::StrCat("to find the kernel ", name));
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

absl::Status RowKernels::LaunchRows(cuda::Kernel kernel, std::span<const RowCopy> rows,
                                    ElementType from, ElementType to,
                                    cuda::Stream stream) const {
  absl::Status status;
  while (!rows.empty() && status.ok()) {
    const RowCopy& like = rows.front();
    RowsArguments arguments{};
    arguments.from_stride = like.from_stride;
    arguments.to_stride = like.to_stride;
    arguments.row_bytes = like.row_bytes;
    arguments.from_type = static_cast<uint32_t>(from);
    arguments.to_type = static_cast<uint32_t>(to);
    for (; !rows.empty() && HasRoom(arguments.moved); rows = rows.subspan(1)) {
      const RowCopy& of = rows.front();
      if (of.from_stride != like.from_stride || of.to_stride != like.to_stride ||
          of.row_bytes != like.row_bytes) {
        break;
      }
      const uint32_t move = Append(of.rows, arguments.moved);
      arguments.from[move] = reinterpret_cast<uint64_t>(of.from);
      arguments.to[move] = reinterpret_cast<uint64_t>(of.to);
    }
    status = Launch(kernel, BlocksOf(arguments.moved), &arguments, stream);
  }
  return status;
}

absl::Status RowKernels::CopyRows(std::span<const RowCopy> copies,
                                  cuda::Stream stream) const {
  return LaunchRows(copy_rows_, copies, ElementType::kFloat32, ElementType::kFloat32,
                    stream);
}

absl::Status RowKernels::AddRows(std::span<const RowCopy> sums, ElementType from,
                                 ElementType to, cuda::Stream stream) const {
  return LaunchRows(add_rows_, sums, from, to, stream);
}

absl::Status RowKernels::Convert(ElementType type, const float* from, size_t count,
                                 void* to, cuda::Stream stream) const {
  ConvertArguments arguments{from, to, count, static_cast<uint32_t>(type)};
  constexpr uint64_t kOfBlock = uint64_t{kThreadsOfBlock} * kFloatsOfThread;
  return Launch(convert_, (count + kOfBlock - 1) / kOfBlock, &arguments, stream);
}

absl::Status RowKernels::Pace(uint64_t* clock, std::chrono::nanoseconds at_least,
                              cuda::Stream stream) const {
  PaceArguments arguments{clock, static_cast<uint64_t>(at_least.count())};
  return Launch(pace_, 1, &arguments, stream);
}

}  // namespace evenpack::worker
