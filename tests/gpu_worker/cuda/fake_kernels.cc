#include "tests/gpu_worker/cuda/fake_kernels.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/cuda/row_kernel_arguments.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"
#include "tests/gpu_worker/cuda/fake_state.h"

namespace evenpack::testing {
namespace {

using worker::PaceArguments;
using worker::RowsArguments;
using worker::SumsArguments;
using worker::SumsTerm;

bool Owned(const void* data, size_t bytes, const char* kernel) {
  if (fakeCudaOwns(data, bytes)) return true;
  fakeCudaNote((std::string(kernel) + ": memory that is not in use").c_str());
  return false;
}

// Calls visit(from, to) for each row that the blocks have a warp for.
template <typename Visit>
void ForEachRow(const RowsArguments& of, uint64_t blocks, const char* kernel,
                Visit visit) {
  const worker::MovedRows& moved = of.moved;
  if (blocks * worker::kRowsOfBlock < moved.rows) {
    fakeCudaNote((std::string(kernel) + ": too few blocks").c_str());
  }
  uint32_t move = 0;
  for (uint64_t row = 0; row < moved.rows; ++row) {
    while (move + 1 < moved.moves && moved.first[move + 1] <= row) ++move;
    const uint64_t within = row - moved.first[move];
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    visit(reinterpret_cast<const void*>(of.from[move] + within * of.from_stride),
          // NOLINTNEXTLINE(performance-no-int-to-ptr)
          reinterpret_cast<void*>(of.to[move] + within * of.to_stride));
  }
}

void CopyRows(const void* argument, uint64_t blocks) {
  const auto& of = *static_cast<const RowsArguments*>(argument);
  ForEachRow(of, blocks, "evenpack_copy_rows", [&](const void* from, void* to) {
    if (Owned(from, of.row_bytes, "evenpack_copy_rows") &&
        Owned(to, of.row_bytes, "evenpack_copy_rows")) {
      std::memcpy(to, from, of.row_bytes);
    }
  });
}

void AddRows(const void* argument, uint64_t blocks) {
  const auto& of = *static_cast<const RowsArguments*>(argument);
  const auto from_type = static_cast<worker::ElementType>(of.from_type);
  const auto to_type = static_cast<worker::ElementType>(of.to_type);
  const size_t columns = of.row_bytes / worker::BytesOf(from_type);
  std::vector<float> added(columns);
  std::vector<float> sums(columns);
  ForEachRow(of, blocks, "evenpack_add_rows", [&](const void* from, void* to) {
    if (!Owned(from, of.row_bytes, "evenpack_add_rows") ||
        !Owned(to, columns * worker::BytesOf(to_type), "evenpack_add_rows")) {
      return;
    }
    worker::Load(from_type, from, columns, added.data());
    worker::Load(to_type, to, columns, sums.data());
    for (size_t i = 0; i < columns; ++i) sums[i] += added[i];
    worker::Store(to_type, sums.data(), columns, to);
  });
}

// What is waited for passes on the device's clock.
void Pace(const void* argument, uint64_t /*blocks*/) {
  const auto& of = *static_cast<const PaceArguments*>(argument);
  if (!Owned(of.clock, sizeof(uint64_t), "evenpack_pace")) return;
  const uint64_t now = FakeState::Get().time();
  if (of.nanoseconds == 0) {
    *of.clock = now;
  } else if (now - *of.clock < of.nanoseconds) {
    fakeCudaPassTime(of.nanoseconds - (now - *of.clock));
  }
}

// The term's row that goes to a row of the sums; 0 where none does.
uint64_t RowOfTerm(const SumsArguments& of, const SumsTerm& term, size_t tensor,
                   uint32_t row) {
  for (uint32_t i = term.first_move; i < term.first_move + term.moves; ++i) {
    const worker::SumsMove& move = of.moves[i];
    if (row >= move.to && row - move.to < move.count) {
      return term.tensors[tensor] + (move.from + (row - move.to)) * term.stride;
    }
  }
  return 0;
}

void SumRow(const SumsArguments& of, size_t tensor, uint32_t row) {
  const auto type = static_cast<worker::ElementType>(of.type);
  std::vector<float> added(of.columns);
  std::vector<float> sums(of.columns);
  for (uint32_t i = 0; i < of.term_count; ++i) {
    const SumsTerm& term = of.terms[i];
    const auto term_type = static_cast<worker::ElementType>(term.type);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const from =
        reinterpret_cast<const void*>(RowOfTerm(of, term, tensor, row));
    if (from == nullptr ||
        !Owned(from, of.columns * worker::BytesOf(term_type), "evenpack_sum_rows")) {
      continue;
    }
    worker::Load(term_type, from, of.columns, added.data());
    for (size_t k = 0; k < of.columns; ++k) sums[k] += added[k];
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const to = reinterpret_cast<void*>(of.tensors[tensor] + row * of.stride);
  if (Owned(to, of.columns * worker::BytesOf(type), "evenpack_sum_rows")) {
    worker::Store(type, sums.data(), of.columns, to);
  }
}

// All rows of a tensor have blocks; the double does not tell the tensors' apart.
void SumRows(const void* argument, uint64_t blocks) {
  const auto& of = *static_cast<const SumsArguments*>(argument);
  if (blocks * worker::kRowsOfBlock < of.rows) {
    fakeCudaNote("evenpack_sum_rows: too few blocks");
  }
  for (size_t tensor = 0; tensor < 2; ++tensor) {
    for (uint32_t row = 0; row < of.rows; ++row) SumRow(of, tensor, of.first_row + row);
  }
}

}  // namespace

const std::vector<FakeKernel>& FakeKernels() {
  static const std::vector<FakeKernel> kKernels = {
      {"evenpack_copy_rows", sizeof(RowsArguments), CopyRows},
      {"evenpack_add_rows", sizeof(RowsArguments), AddRows},
      {"evenpack_sum_rows", sizeof(SumsArguments), SumRows},
      {"evenpack_pace", sizeof(PaceArguments), Pace}};
  return kKernels;
}

}  // namespace evenpack::testing
