// What the kernels of row_kernels.cu are given: an argument each, which the host's
// compiler and the device's lay out alike.
#ifndef EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
#define EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_

#include <cstdint>

namespace evenpack::worker {

// Moves of a launch; more take several.
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

// evenpack_sum_rows: a warp for each row of the two tensors (blockIdx.y). As RowTerm
// and RowSums have them.
inline constexpr uint32_t kTermsOfSums = 64;
inline constexpr uint32_t kMovesOfSums = 512;
struct SumsMove {
  uint32_t from;
  uint32_t to;
  uint32_t count;
};
struct SumsTerm {
  uint64_t tensors[2];
  uint64_t stride;
  // An ElementType.
  uint32_t type;
  // Of `moves`, those of the term.
  uint32_t first_move;
  uint32_t moves;
};
struct SumsArguments {
  SumsTerm terms[kTermsOfSums];
  SumsMove moves[kMovesOfSums];
  uint64_t tensors[2];
  uint64_t stride;
  uint64_t columns;
  uint32_t type;
  uint32_t term_count;
  uint32_t first_row;
  uint32_t rows;
};

// evenpack_pace: one thread.
struct PaceArguments {
  uint64_t* clock;
  uint64_t nanoseconds;
};

inline constexpr uint32_t kThreadsOfBlock = 256;
inline constexpr uint32_t kRowsOfBlock = kThreadsOfBlock / 32;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_ROW_KERNEL_ARGUMENTS_H_
