#include "gpu_worker/reference/synthetic_tensor.h"

namespace evenpack::worker {
namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ULL;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

float Rounded(float value, ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return value;
    case ElementType::kBfloat16:
      return FromBfloat16(ToBfloat16(value));
    case ElementType::kFloat16:
      return FromFloat16(ToFloat16(value));
  }
  return value;
}

}  // namespace

void FillSyntheticRow(uint64_t seed, TensorRole role, uint64_t document,
                      uint32_t position, ElementType type, std::span<float> row) {
  uint64_t state = Mix(seed + kGamma);
  state = Mix((state ^ static_cast<uint64_t>(role)) + kGamma);
  state = Mix((state ^ document) + kGamma);
  state = Mix((state ^ position) + kGamma);
  for (float& element : row) {
    state += kGamma;
    // 24 bits, which a float holds exactly.
    const auto bits = static_cast<int32_t>(Mix(state) >> 40);
    element = Rounded(static_cast<float>(bits - (1 << 23)) * 0x1p-23F, type);
  }
}

}  // namespace evenpack::worker
