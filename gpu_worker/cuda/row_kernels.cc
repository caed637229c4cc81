#include "gpu_worker/cuda/row_kernels.h"

#include <algorithm>
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

// Rows are numbers of 32 bits there.
constexpr uint64_t kMostRows = 0xffffffff;

// The moves to rows from `first` to before `end`; at its ends they may go beyond.
std::span<const RowMove> MovesBetween(const RowTerm& term, uint64_t first,
                                      uint64_t end) {
  const auto begins = std::partition_point(
      term.moves.begin(), term.moves.end(),
      [first](const RowMove& move) { return move.to + move.count <= first; });
  const auto ends = std::partition_point(
      begins, term.moves.end(), [end](const RowMove& move) { return move.to < end; });
  return {begins, ends};
}

// So far from `first` that a launch has room for the moves to the rows before it.
uint64_t EndOfLaunch(std::span<const RowTerm> terms, uint64_t first, uint64_t rows) {
  for (uint64_t end = rows;; end = first + (end - first) / 2) {
    size_t moves = 0;
    for (const RowTerm& term : terms) moves += MovesBetween(term, first, end).size();
    if (moves <= kMovesOfSums) return end;
  }
}

SumsArguments ArgumentsOf(const RowSums& sums) {
  SumsArguments arguments{};
  for (size_t i = 0; i < sums.tensors.size(); ++i) {
    arguments.tensors[i] = reinterpret_cast<uint64_t>(sums.tensors[i]);
  }
  arguments.stride = sums.stride;
  arguments.columns = sums.columns;
  arguments.type = static_cast<uint32_t>(sums.type);
  arguments.term_count = 0;
  return arguments;
}

void AppendTerms(std::span<const RowTerm> terms, uint64_t first, uint64_t end,
                 SumsArguments& to) {
  uint32_t moves = 0;
  for (const RowTerm& term : terms) {
    const uint32_t first_move = moves;
    for (const RowMove& move : MovesBetween(term, first, end)) {
      to.moves[moves++] = {static_cast<uint32_t>(move.from),
                           static_cast<uint32_t>(move.to),
                           static_cast<uint32_t>(move.count)};
    }
    if (moves == first_move) continue;
    SumsTerm& appended = to.terms[to.term_count++];
    for (size_t i = 0; i < term.tensors.size(); ++i) {
      appended.tensors[i] = reinterpret_cast<uint64_t>(term.tensors[i]);
    }
    appended.stride = term.stride;
    appended.type = static_cast<uint32_t>(term.type);
    appended.first_move = first_move;
    appended.moves = moves - first_move;
  }
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
      {&sum_rows_, "evenpack_sum_rows"},
      {&pace_, "evenpack_pace"}};
  for (const auto& [kernel, name] : kernels) {
    if (!status.ok()) break;
    status = context_->Check(call.cuLibraryGetKernel(kernel, library_, name),
                             absl::StrCat("to find the kernel ", name));
  }
  return status;
}

absl::Status RowKernels::Launch(cuda::Kernel kernel, uint64_t blocks, void* argument,
                                cuda::Stream stream, unsigned tensors) const {
  if (blocks == 0) return absl::OkStatus();
  if (blocks > kMostBlocks) {
    return absl::InvalidArgumentError("more rows than a grid has blocks");
  }
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuLaunchKernel(
                             kernel, static_cast<unsigned>(blocks), tensors, 1,
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

absl::Status RowKernels::SumRows(std::span<const RowTerm> terms, const RowSums& sums,
                                 cuda::Stream stream) const {
  if (terms.size() > kTermsOfSums || sums.rows > kMostRows) {
    return absl::InvalidArgumentError("more terms or rows than a launch has");
  }
  absl::Status status;
  for (uint64_t first = 0; first < sums.rows && status.ok();) {
    SumsArguments arguments = ArgumentsOf(sums);
    arguments.first_row = static_cast<uint32_t>(first);
    const uint64_t end = EndOfLaunch(terms, first, sums.rows);
    arguments.rows = static_cast<uint32_t>(end - first);
    AppendTerms(terms, first, end, arguments);
    const uint64_t blocks = (end - first + kRowsOfBlock - 1) / kRowsOfBlock;
    status = Launch(sum_rows_, blocks, &arguments, stream, 2);
    first = end;
  }
  return status;
}

absl::Status RowKernels::Pace(uint64_t* clock, std::chrono::nanoseconds at_least,
                              cuda::Stream stream) const {
  PaceArguments arguments{clock, static_cast<uint64_t>(at_least.count())};
  return Launch(pace_, 1, &arguments, stream);
}

}  // namespace evenpack::worker
