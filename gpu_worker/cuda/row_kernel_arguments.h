// What the kernels of row_kernels.cu are given: an argument each, which the host's
// compiler and the device's lay out alike.
#ifndef EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
#define EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_

#include <cstdint>

namespace evenpack::worker {

// Moves of a launch; more take several. An argument is at most 4 KiB.
inline constexpr uint32_t kMovesOfLaunch = 128;

// A warp for each row of a launch. Row r belongs to the last move whose `first` is not
// beyond r, and is its row r - first.
struct MovedRows {
  uint64_t rows;
  uint32_t moves;
  uint64_t first[kMovesOfLaunch];
};

// evenpack_copy_rows, and evenpack_add_rows: addresses of the first rows; bytes from
// row to row, and of a row of `from`.
struct RowsArguments {
  MovedRows moved;
  uint64_t from[kMovesOfLaunch];
  uint64_t to[kMovesOfLaunch];
  uint64_t from_stride;
  uint64_t to_stride;
  uint64_t row_bytes;
  // ElementTypes, of sums.
  uint32_t from_type;
  uint32_t to_type;
};

// evenpack_convert: a thread for each kFloatsOfThread numbers.
struct ConvertArguments {
  const float* from;
  void* to;
  uint64_t count;
  // An ElementType.
  uint32_t type;
};

// evenpack_pace: one thread.
struct PaceArguments {
  uint64_t* clock;
  uint64_t nanoseconds;
};

inline constexpr uint32_t kThreadsOfBlock = 256;
inline constexpr uint32_t kRowsOfBlock = kThreadsOfBlock / 32;
inline constexpr uint32_t kFloatsOfThread = 4;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
