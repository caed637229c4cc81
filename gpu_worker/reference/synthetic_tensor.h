// Made-up tensors of which every rank can make any token by itself.
#ifndef EVENPACK_GPU_WORKER_REFERENCE_SYNTHETIC_TENSOR_H_
#define EVENPACK_GPU_WORKER_REFERENCE_SYNTHETIC_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu_worker/attention/element_type.h"

namespace evenpack::worker {

enum class TensorRole : uint8_t { kQuery, kKey, kValue, kOutputGradient };

// The row of the token at `position` of a document: numbers between -1 and 1 that
// depend on nothing but the arguments, already rounded to `type`. `row` may be of any
// length; its start does not depend on it. Splitmix64 (Steele, Lea, Flood, "Fast
// Splittable Pseudorandom Number Generators") makes the bits.
void FillSyntheticRow(uint64_t seed, TensorRole role, uint64_t document,
                      uint32_t position, ElementType type, std::span<float> row);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_REFERENCE_SYNTHETIC_TENSOR_H_
