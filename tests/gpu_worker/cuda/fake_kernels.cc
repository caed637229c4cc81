#include "tests/gpu_worker/cuda/fake_kernels.h"

#include <cstdint>
#include <string>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/cuda/row_kernel_arguments.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"

namespace evenpack::testing {
namespace {

using worker::AddRowsArguments;
using worker::ConvertArguments;

bool Owned(const void* data, size_t bytes, const char* kernel) {
  if (fakeCudaOwns(data, bytes)) return true;
  fakeCudaNote((std::string(kernel) + ": memory that is not in use").c_str());
  return false;
}

// `blocks`: rows.
void AddRows(const void* argument, uint64_t blocks) {
  const auto& of = *static_cast<const AddRowsArguments*>(argument);
  uint32_t range = 0;
  for (uint64_t row = 0; row < blocks; ++row) {
    while (range + 1 < of.ranges && of.first[range + 1] <= row) ++range;
    const float* const from = of.from + row * of.columns;
    float* const sums = of.sums + (of.row[range] + row - of.first[range]) * of.stride;
    if (!Owned(from, of.columns * sizeof(float), "evenpack_add_rows") ||
        !Owned(sums, of.columns * sizeof(float), "evenpack_add_rows")) {
      return;
    }
    for (uint64_t i = 0; i < of.columns; ++i) sums[i] += from[i];
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
      {"evenpack_add_rows", sizeof(AddRowsArguments), AddRows},
      {"evenpack_convert", sizeof(ConvertArguments), Convert}};
  return kKernels;
}

}  // namespace evenpack::testing
