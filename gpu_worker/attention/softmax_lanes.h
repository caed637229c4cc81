// The kernels of softmax_row.h by vectors of a width, for files that are compiled for
// processors which have them. All is inlined there: the linker keeps one copy of a
// function that several files have, whatever each was compiled for.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_LANES_H_
#define EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_LANES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gpu_worker/attention/softmax_kernels.h"

namespace evenpack::worker {

#define EVENPACK_LANES [[gnu::always_inline]] static inline

// Vectors of kWidth numbers. Spelled out: GCC 12 drops a size that depends on a
// template's parameter.
template <size_t kWidth>
struct LaneVectors;
template <>
struct LaneVectors<4> {
  using Floats = float __attribute__((vector_size(16)));
  using Bits = int32_t __attribute__((vector_size(16)));
};
template <>
struct LaneVectors<8> {
  using Floats = float __attribute__((vector_size(32)));
  using Bits = int32_t __attribute__((vector_size(32)));
};
template <>
struct LaneVectors<16> {
  using Floats = float __attribute__((vector_size(64)));
  using Bits = int32_t __attribute__((vector_size(64)));
};

// Sums and maxima are taken in sixteen parts whatever the width, so that results don't
// depend on it. Vectors wider than the processor's would do too, at a tenth of the
// speed: GCC 12 compares them number by number.
template <size_t kWidth>
class SoftmaxLanes {
 public:
  static SoftmaxKernels Kernels(const char* vectors) {
    return {vectors,
            [](const float* values, size_t count) { return LargestOf(values, count); },
            [](float* values, size_t count, float minus) {
              return ExponentiateRow(values, count, minus);
            },
            [](float* values, const float* factors, size_t count, float minus) {
              WeighRow(values, factors, count, minus);
            }};
  }

 private:
  static constexpr size_t kLanes = 16;
  static constexpr size_t kParts = kLanes / kWidth;
  using Vector = typename LaneVectors<kWidth>::Floats;
  using Bits = typename LaneVectors<kWidth>::Bits;

  static constexpr float kSmallestExponent = -87.0F;
  static constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts: the first has few enough digits for its products to be exact.
  static constexpr float kLn2High = 0.693359375F;
  static constexpr float kLn2Low = -2.12194440e-4F;
  // Adding it leaves a float's nearest integer in its lowest bits.
  static constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

  EVENPACK_LANES float LargestOf(const float* values, size_t count) {
    Vector parts[kParts];
    for (Vector& part : parts) part = Vector{} + values[0];
    ForEachVector(values, count, values[0],
                  [&parts](size_t part, const Vector& next, size_t, size_t) {
                    parts[part] = next > parts[part] ? next : parts[part];
                  });
    float largest = values[0];
    for (const Vector& part : parts) {
      for (size_t i = 0; i < kWidth; ++i) {
        largest = part[i] > largest ? part[i] : largest;
      }
    }
    return largest;
  }

  EVENPACK_LANES float ExponentiateRow(float* values, size_t count, float minus) {
    Vector parts[kParts] = {};
    // What is none counts nothing, however large `minus` is.
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    ForEachVector(values, count, kNothing,
                  [&](size_t part, const Vector& next, size_t at, size_t numbers) {
                    const Vector power = Exponential(next - minus);
                    std::memcpy(values + at, &power, numbers * sizeof(float));
                    parts[part] += power;
                  });
    float sum = 0;
    for (const Vector& part : parts) {
      for (size_t i = 0; i < kWidth; ++i) sum += part[i];
    }
    return sum;
  }

  EVENPACK_LANES void WeighRow(float* values, const float* factors, size_t count,
                               float minus) {
    size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
      const Vector weighed = Load(factors + i) * (Load(values + i) - minus);
      std::memcpy(values + i, &weighed, sizeof(weighed));
    }
    for (; i < count; ++i) values[i] = factors[i] * (values[i] - minus);
  }

  // Calls take(part, vector, its first number's place, how many numbers it has): the
  // last is filled up.
  template <typename Take>
  EVENPACK_LANES void ForEachVector(const float* values, size_t count, float filler,
                                    const Take& take) {
    size_t at = 0;
    for (; at + kLanes <= count; at += kLanes) {
      // Or the parts would be in memory.
#pragma GCC unroll 4
      for (size_t part = 0; part < kParts; ++part) {
        const size_t place = at + part * kWidth;
        take(part, Load(values + place), place, kWidth);
      }
    }
    for (size_t part = 0; at < count; ++part, at += kWidth) {
      const size_t numbers = count - at < kWidth ? count - at : kWidth;
      Vector vector = Vector{} + filler;
      std::memcpy(&vector, values + at, numbers * sizeof(float));
      take(part, vector, at, numbers);
    }
  }

  EVENPACK_LANES Vector Load(const float* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
  }

  // e^x for x up to 0, 0 below -87: 2^n times a Taylor polynomial on |r| <= ln(2) / 2,
  // whose first term left out is below 6e-8 of the value. A NaN stays one.
  EVENPACK_LANES Vector Exponential(const Vector& x) {
    const Vector smallest = Vector{} + kSmallestExponent;
    const Vector bounded = x < smallest ? smallest : x;
    const Vector shifted = bounded * kLog2E + kRounder;
    const Vector n = shifted - kRounder;
    const Vector r = (bounded - n * kLn2High) - n * kLn2Low;
    Vector series = r * (1.0F / 5040) + (1.0F / 720);
    series = series * r + (1.0F / 120);
    series = series * r + (1.0F / 24);
    series = series * r + (1.0F / 6);
    series = series * r + 0.5F;
    series = series * r + 1.0F;
    series = series * r + 1.0F;
    const Bits power = std::bit_cast<Bits>(shifted) << 23;
    const auto value = std::bit_cast<Vector>(std::bit_cast<Bits>(series) + power);
    // The sum of bits takes some NaNs to numbers; the difference is 0 or a NaN.
    return x >= smallest ? value : bounded - smallest;
  }
};

#undef EVENPACK_LANES

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_LANES_H_
