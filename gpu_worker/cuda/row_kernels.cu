// Copies and sums of rows (device.h). Their host forms are those of
// HostDevice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu_worker/cuda/row_kernel_arguments.h"

using evenpack::worker::kRowsOfBlock;
using evenpack::worker::kTermsOfSums;
using evenpack::worker::MovedRows;
using evenpack::worker::PaceArguments;
using evenpack::worker::RowsArguments;
using evenpack::worker::SumsArguments;
using evenpack::worker::SumsTerm;

constexpr uint32_t kLanes = 32;
constexpr uint32_t kBytesAtOnce = 16;

// The last move that begins at the row or before it.
__device__ uint32_t MoveOf(const MovedRows& of, uint64_t row) {
  uint32_t low = 0;
  uint32_t high = of.moves;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (of.first[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The row of the calling thread's warp.
__device__ uint64_t RowOfWarp() {
  return static_cast<uint64_t>(blockIdx.x) * kRowsOfBlock + threadIdx.x / kLanes;
}

__device__ uint32_t Lane() { return threadIdx.x % kLanes; }

// Whether 16 bytes may be read and written at once.
__device__ bool AreAligned(uint64_t from, uint64_t to, uint64_t bytes) {
  return (from | to | bytes) % kBytesAtOnce == 0;
}

// Addresses of the calling thread's row; 0 where there is none.
struct Row {
  uint64_t from;
  uint64_t to;
};
__device__ Row RowOf(const RowsArguments& of) {
  const uint64_t row = RowOfWarp();
  if (row >= of.moved.rows) return {0, 0};
  const uint32_t move = MoveOf(of.moved, row);
  const uint64_t within = row - of.moved.first[move];
  return {of.from[move] + within * of.from_stride, of.to[move] + within * of.to_stride};
}

extern "C" __global__ void evenpack_copy_rows(const __grid_constant__ RowsArguments of) {
  const auto [from, to] = RowOf(of);
  if (from == 0) return;
  if (AreAligned(from, to, of.row_bytes)) {
    const auto* const read = reinterpret_cast<const uint4*>(from);
    auto* const written = reinterpret_cast<uint4*>(to);
    for (uint64_t i = Lane(); i < of.row_bytes / kBytesAtOnce; i += kLanes) {
      written[i] = read[i];
    }
    return;
  }
  const auto* const read = reinterpret_cast<const char*>(from);
  auto* const written = reinterpret_cast<char*>(to);
  for (uint64_t i = Lane(); i < of.row_bytes; i += kLanes) written[i] = read[i];
}

// A thread's numbers lie one after another, as many as 16 bytes of the narrower type
// hold.
constexpr uint32_t kNumbersAtOnce = 8;

template <typename T>
struct alignas(kBytesAtOnce) Numbers {
  T at[kNumbersAtOnce];
};

template <typename From, typename To>
__device__ To Sum(From added, To to) {
  return static_cast<To>(static_cast<float>(to) + static_cast<float>(added));
}

template <typename From, typename To>
__device__ void AddRow(const Row& row, uint64_t columns) {
  const auto* const from = reinterpret_cast<const From*>(row.from);
  auto* const to = reinterpret_cast<To*>(row.to);
  if (!AreAligned(row.from, row.to, 0) || columns % kNumbersAtOnce != 0) {
    for (uint64_t i = Lane(); i < columns; i += kLanes) to[i] = Sum(from[i], to[i]);
    return;
  }
  const auto* const added = reinterpret_cast<const Numbers<From>*>(from);
  auto* const sums = reinterpret_cast<Numbers<To>*>(to);
  for (uint64_t i = Lane(); i < columns / kNumbersAtOnce; i += kLanes) {
    const Numbers<From> more = added[i];
    Numbers<To> sum = sums[i];
    for (uint32_t k = 0; k < kNumbersAtOnce; ++k) {
      sum.at[k] = Sum(more.at[k], sum.at[k]);
    }
    sums[i] = sum;
  }
}

// As ElementType has them.
template <typename From>
__device__ void AddRowFrom(const RowsArguments& of, const Row& row) {
  const uint64_t columns = of.row_bytes / sizeof(From);
  switch (of.to_type) {
    case 0:
      AddRow<From, float>(row, columns);
      break;
    case 1:
      AddRow<From, __nv_bfloat16>(row, columns);
      break;
    default:
      AddRow<From, __half>(row, columns);
  }
}

extern "C" __global__ void evenpack_add_rows(const __grid_constant__ RowsArguments of) {
  const Row row = RowOf(of);
  if (row.from == 0) return;
  switch (of.from_type) {
    case 0:
      AddRowFrom<float>(of, row);
      break;
    case 1:
      AddRowFrom<__nv_bfloat16>(of, row);
      break;
    default:
      AddRowFrom<__half>(of, row);
  }
}

constexpr uint32_t kAllLanes = 0xffffffff;
// Terms whose rows each lane of a warp looks for.
constexpr uint32_t kTermsOfLane = kTermsOfSums / kLanes;

// The address of the term's row that goes to a row of the sums; 0 where none does.
__device__ uint64_t RowOfTerm(const SumsArguments& of, uint32_t number, uint32_t row) {
  const SumsTerm& term = of.terms[number];
  uint32_t low = term.first_move;
  uint32_t high = low + term.moves;
  if (low == high || of.moves[low].to > row) return 0;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (of.moves[middle].to <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const uint32_t within = row - of.moves[low].to;
  if (within >= of.moves[low].count) return 0;
  return term.tensors[blockIdx.y] +
         (static_cast<uint64_t>(of.moves[low].from) + within) * term.stride;
}

// Of a row, from `first` on; fewer than kNumbersAtOnce, or not at once, where it is not
// aligned.
struct Part {
  uint64_t first;
  uint32_t count;
  bool is_aligned;
};

template <typename From>
__device__ void AddPart(uint64_t row, const Part& part, float* sums) {
  const auto* const from = reinterpret_cast<const From*>(row) + part.first;
  if (part.is_aligned) {
    const auto more = *reinterpret_cast<const Numbers<From>*>(from);
    for (uint32_t k = 0; k < kNumbersAtOnce; ++k) {
      sums[k] += static_cast<float>(more.at[k]);
    }
    return;
  }
#pragma unroll
  for (uint32_t k = 0; k < kNumbersAtOnce; ++k) {
    if (k < part.count) sums[k] += static_cast<float>(from[k]);
  }
}

__device__ void AddPartOf(uint32_t type, uint64_t row, const Part& part, float* sums) {
  // As ElementType has them.
  switch (type) {
    case 0:
      AddPart<float>(row, part, sums);
      break;
    case 1:
      AddPart<__nv_bfloat16>(row, part, sums);
      break;
    default:
      AddPart<__half>(row, part, sums);
  }
}

template <typename To>
__device__ void StorePart(const float* sums, uint64_t row, const Part& part) {
  auto* const to = reinterpret_cast<To*>(row) + part.first;
  if (part.is_aligned) {
    Numbers<To> numbers;
    for (uint32_t k = 0; k < kNumbersAtOnce; ++k) {
      numbers.at[k] = static_cast<To>(sums[k]);
    }
    *reinterpret_cast<Numbers<To>*>(to) = numbers;
    return;
  }
#pragma unroll
  for (uint32_t k = 0; k < kNumbersAtOnce; ++k) {
    if (k < part.count) to[k] = static_cast<To>(sums[k]);
  }
}

__device__ void StorePartOf(uint32_t type, const float* sums, uint64_t row,
                            const Part& part) {
  switch (type) {
    case 0:
      StorePart<float>(sums, row, part);
      break;
    case 1:
      StorePart<__nv_bfloat16>(sums, row, part);
      break;
    default:
      StorePart<__half>(sums, row, part);
  }
}

extern "C" __global__ void evenpack_sum_rows(const __grid_constant__ SumsArguments of) {
  const uint64_t number = RowOfWarp();
  if (number >= of.rows) return;
  const uint32_t row = of.first_row + static_cast<uint32_t>(number);
  const uint64_t to = of.tensors[blockIdx.y] + row * of.stride;
  uint64_t found[kTermsOfLane];
  uint64_t all = to;
  for (uint32_t k = 0; k < kTermsOfLane; ++k) {
    const uint32_t term = k * kLanes + Lane();
    found[k] = term < of.term_count ? RowOfTerm(of, term, row) : 0;
    all |= found[k];
  }
  const bool is_aligned =
      __all_sync(kAllLanes, AreAligned(all, 0, 0)) && of.columns % kNumbersAtOnce == 0;
  constexpr uint32_t kOfWarp = kLanes * kNumbersAtOnce;
  for (uint64_t column = 0; column < of.columns; column += kOfWarp) {
    Part part;
    part.first = column + Lane() * kNumbersAtOnce;
    part.count = part.first < of.columns
                     ? static_cast<uint32_t>(
                           min(of.columns - part.first, uint64_t{kNumbersAtOnce}))
                     : 0;
    part.is_aligned = is_aligned;
    float sums[kNumbersAtOnce] = {};
    for (uint32_t k = 0; k < kTermsOfLane; ++k) {
      const uint32_t begin = k * kLanes;
      for (uint32_t lane = 0; begin + lane < of.term_count && lane < kLanes; ++lane) {
        const uint64_t from = __shfl_sync(kAllLanes, found[k], lane);
        if (from != 0 && part.count > 0) {
          AddPartOf(of.terms[begin + lane].type, from, part, sums);
        }
      }
    }
    if (part.count > 0) StorePartOf(of.type, sums, to, part);
  }
}

__device__ uint64_t Nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void evenpack_pace(const __grid_constant__ PaceArguments of) {
  if (threadIdx.x != 0) return;
  if (of.nanoseconds == 0) {
    *of.clock = Nanoseconds();
    return;
  }
  while (Nanoseconds() - *of.clock < of.nanoseconds) __nanosleep(1000);
}
