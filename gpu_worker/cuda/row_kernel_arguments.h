// What the kernels of row_kernels.cu are given: an argument each, which the host's
// compiler and the device's lay out alike.
#ifndef EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
#define EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_

#include <cstdint>

namespace evenpack::worker {

// Of a launch; more take several.
inline constexpr uint32_t kRangesOfLaunch = 64;

// evenpack_add_rows: a block for each row of `from`.
struct AddRowsArguments {
  const float* from;
  float* sums;
  // Floats of a row that are added, and from one of `sums` to the next.
  uint64_t columns;
  uint64_t stride;
  uint32_t ranges;
  // The rows of `from` from this one on, up to that of the next range, are added to the
  // rows of `sums` from that one on.
  uint64_t first[kRangesOfLaunch];
  uint64_t row[kRangesOfLaunch];
};

// evenpack_convert: a thread for each kFloatsOfThread numbers.
struct ConvertArguments {
  const float* from;
  void* to;
  uint64_t count;
  // An ElementType.
  uint32_t type;
};

inline constexpr uint32_t kThreadsOfBlock = 256;
inline constexpr uint32_t kFloatsOfThread = 4;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
