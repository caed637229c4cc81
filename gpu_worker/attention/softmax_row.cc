#include "gpu_worker/attention/softmax_row.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

// Compiled for what the processor at hand has, where compiler and sanitizers let it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EVENPACK_WIDEST_VECTORS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EVENPACK_WIDEST_VECTORS
#endif

namespace evenpack::worker {
namespace {

// Sixteen numbers at once, whatever the processor's vectors hold of them: sums and
// maxima are taken in as many parts, the same on every machine.
constexpr size_t kLanes = 16;
using Lanes = float __attribute__((vector_size(sizeof(float) * kLanes)));
using LaneBits = int32_t __attribute__((vector_size(sizeof(float) * kLanes)));

// Inlined, to be compiled for the processor of its caller.
#define EVENPACK_LANES [[gnu::always_inline]] inline

constexpr float kSmallestExponent = -87.0F;
constexpr float kLog2E = 1.44269504F;
// ln 2 in two parts: the first has few enough digits for its products to be exact.
constexpr float kLn2High = 0.693359375F;
constexpr float kLn2Low = -2.12194440e-4F;
// Adding it leaves a float's nearest integer in its lowest bits.
constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

EVENPACK_LANES Lanes Load(const float* from, size_t count = kLanes,
                          float otherwise = 0) {
  Lanes lanes = Lanes{} + otherwise;
  std::memcpy(&lanes, from, count * sizeof(float));
  return lanes;
}

EVENPACK_LANES void Store(const Lanes& lanes, float* to, size_t count = kLanes) {
  std::memcpy(to, &lanes, count * sizeof(float));
}

// e^x for x up to 0, 0 below -87: 2^n times a Taylor polynomial on |r| <= ln(2) / 2,
// whose first term left out is below 6e-8 of the value. A NaN stays one.
EVENPACK_LANES Lanes Exponential(const Lanes& x) {
  const Lanes smallest = Lanes{} + kSmallestExponent;
  const Lanes bounded = x < smallest ? smallest : x;
  const Lanes shifted = bounded * kLog2E + kRounder;
  const Lanes n = shifted - kRounder;
  const Lanes r = (bounded - n * kLn2High) - n * kLn2Low;
  Lanes series = r * (1.0F / 5040) + (1.0F / 720);
  series = series * r + (1.0F / 120);
  series = series * r + (1.0F / 24);
  series = series * r + (1.0F / 6);
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  const LaneBits power = std::bit_cast<LaneBits>(shifted) << 23;
  const auto value = std::bit_cast<Lanes>(std::bit_cast<LaneBits>(series) + power);
  return x < smallest ? Lanes{} : value;
}

}  // namespace

EVENPACK_WIDEST_VECTORS
float LargestOf(const float* values, size_t count) {
  Lanes parts = Lanes{} + values[0];
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes next = Load(values + i);
    parts = next > parts ? next : parts;
  }
  if (i < count) {
    const Lanes next = Load(values + i, count - i, values[0]);
    parts = next > parts ? next : parts;
  }
  float largest = parts[0];
  for (size_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, parts[lane]);
  return largest;
}

EVENPACK_WIDEST_VECTORS
float ExponentiateRow(float* values, size_t count, float minus) {
  Lanes parts = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes power = Exponential(Load(values + i) - minus);
    Store(power, values + i);
    parts += power;
  }
  if (i < count) {
    // What is none counts nothing, however large `minus` is.
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    const Lanes power = Exponential(Load(values + i, count - i, kNothing) - minus);
    Store(power, values + i, count - i);
    parts += power;
  }
  float sum = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) sum += parts[lane];
  return sum;
}

EVENPACK_WIDEST_VECTORS
void WeighRow(float* values, const float* factors, size_t count, float minus) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store(Load(factors + i) * (Load(values + i) - minus), values + i);
  }
  for (; i < count; ++i) values[i] = factors[i] * (values[i] - minus);
}

}  // namespace evenpack::worker
