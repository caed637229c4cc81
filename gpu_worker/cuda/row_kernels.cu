// Copies, sums and conversions of rows (device.h). Their host forms are those of
// HostDevice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu_worker/cuda/row_kernel_arguments.h"

using evenpack::worker::ConvertArguments;
using evenpack::worker::kFloatsOfThread;
using evenpack::worker::kRowsOfBlock;
using evenpack::worker::MovedRows;
using evenpack::worker::PaceArguments;
using evenpack::worker::RowsArguments;

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

__device__ void StoreOne(const ConvertArguments& of, uint64_t i) {
  const float value = of.from[i];
  // As ElementType has them.
  switch (of.type) {
    case 0:
      static_cast<float*>(of.to)[i] = value;
      break;
    case 1:
      static_cast<__nv_bfloat16*>(of.to)[i] = __float2bfloat16_rn(value);
      break;
    default:
      static_cast<__half*>(of.to)[i] = __float2half_rn(value);
  }
}

extern "C" __global__ void evenpack_convert(const __grid_constant__ ConvertArguments of) {
  // Neighbours read neighbouring numbers.
  const uint64_t first =
      static_cast<uint64_t>(blockIdx.x) * blockDim.x * kFloatsOfThread + threadIdx.x;
  for (uint32_t k = 0; k < kFloatsOfThread; ++k) {
    const uint64_t i = first + static_cast<uint64_t>(k) * blockDim.x;
    if (i < of.count) StoreOne(of, i);
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
