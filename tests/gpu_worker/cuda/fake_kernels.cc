#include "tests/gpu_worker/cuda/fake_kernels.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/cuda/row_kernel_arguments.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"

namespace evenpack::testing {
namespace {

using worker::ConvertArguments;
using worker::PaceArguments;
using worker::RowsArguments;

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

// Streams of the double keep no time: what they wait for has passed.
void Pace(const void* argument, uint64_t /*blocks*/) {
  const auto& of = *static_cast<const PaceArguments*>(argument);
  if (Owned(of.clock, sizeof(uint64_t), "evenpack_pace") && of.nanoseconds == 0) {
    *of.clock = 0;
  }
}

void Convert(const void* argument, uint64_t blocks) {
  const auto& of = *static_cast<const ConvertArguments*>(argument);
  const auto type = static_cast<worker::ElementType>(of.type);
  const uint64_t done = blocks * worker::kThreadsOfBlock * worker::kFloatsOfThread;
  if (done < of.count) fakeCudaNote("evenpack_convert: too few blocks");
  if (Owned(of.from, of.count * sizeof(float), "evenpack_convert") &&
      Owned(of.to, of.count * worker::BytesOf(type), "evenpack_convert")) {
    worker::Store(type, of.from, of.count, of.to);
  }
}

}  // namespace

const std::vector<FakeKernel>& FakeKernels() {
  static const std::vector<FakeKernel> kKernels = {
      {"evenpack_copy_rows", sizeof(RowsArguments), CopyRows},
      {"evenpack_add_rows", sizeof(RowsArguments), AddRows},
      {"evenpack_convert", sizeof(ConvertArguments), Convert},
      {"evenpack_pace", sizeof(PaceArguments), Pace}};
  return kKernels;
}

}  // namespace evenpack::testing
