// Sums and conversions of rows (device.h). Their host forms are those of HostDevice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu_worker/cuda/row_kernel_arguments.h"

using evenpack::worker::AddRowsArguments;
using evenpack::worker::ConvertArguments;
using evenpack::worker::kFloatsOfThread;

// The last range that begins at the row or before it.
__device__ uint32_t RangeOf(const AddRowsArguments& of, uint64_t row) {
  uint32_t low = 0;
  uint32_t high = of.ranges;
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

extern "C" __global__ void evenpack_add_rows(const __grid_constant__ AddRowsArguments of) {
  const uint64_t row = blockIdx.x;
  const uint32_t range = RangeOf(of, row);
  const float* const from = of.from + row * of.columns;
  float* const sums = of.sums + (of.row[range] + row - of.first[range]) * of.stride;
  for (uint64_t i = threadIdx.x; i < of.columns; i += blockDim.x) sums[i] += from[i];
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
