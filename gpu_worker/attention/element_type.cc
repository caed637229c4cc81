#include "gpu_worker/attention/element_type.h"

#include <algorithm>
#include <cmath>

namespace evenpack::worker {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000U;
constexpr uint16_t kHalfInfinity = 0x7c00U;
// Values of this magnitude round to infinity: half the last place above 65,504.
constexpr float kHalfOverflow = 65520.0F;
// The smallest normal half and the weight of a subnormal one's last place.
constexpr float kHalfSmallestNormal = 0x1p-14F;
constexpr float kHalfSubnormalUnit = 0x1p-24F;

// The value over 2^bits, rounded to nearest, ties to even.
uint32_t RoundedShift(uint32_t value, int bits) {
  const uint32_t half = uint32_t{1} << (bits - 1);
  const uint32_t odd = (value >> bits) & 1U;
  return (value + half - 1U + odd) >> bits;
}

}  // namespace

absl::string_view ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kBfloat16:
      return "bfloat16";
    case ElementType::kFloat16:
      return "float16";
  }
  return "unknown";
}

std::optional<ElementType> ElementTypeNamed(absl::string_view name) {
  for (const ElementType type : kElementTypes) {
    if (name == ElementTypeName(type)) return type;
  }
  return std::nullopt;
}

uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // A NaN keeps its sign and is made a quiet one, which rounding could undo.
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>(RoundedShift(bits, 16));
}

float FromFloat16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) {
    return std::bit_cast<float>(sign | kFloatInfinity | fraction << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * kHalfSubnormalUnit;
    return sign == 0 ? magnitude : -magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112U) << 23 | fraction << 13);
}

uint16_t ToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  if (std::isnan(value)) return sign | kHalfInfinity | 0x200U;
  const float magnitude = std::fabs(value);
  if (magnitude >= kHalfOverflow) return sign | kHalfInfinity;
  if (magnitude < kHalfSmallestNormal) {
    const float units = std::nearbyint(magnitude / kHalfSubnormalUnit);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(units));
  }
  const uint32_t rebiased = std::bit_cast<uint32_t>(magnitude) - (112U << 23);
  return static_cast<uint16_t>(sign | RoundedShift(rebiased, 13));
}

void Load(ElementType type, const void* from, size_t count, float* to) {
  if (type == ElementType::kFloat32) {
    std::copy_n(static_cast<const float*>(from), count, to);
    return;
  }
  const auto* halves = static_cast<const uint16_t*>(from);
  if (type == ElementType::kBfloat16) {
    for (size_t i = 0; i < count; ++i) to[i] = FromBfloat16(halves[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = FromFloat16(halves[i]);
  }
}

void Store(ElementType type, const float* from, size_t count, void* to) {
  if (type == ElementType::kFloat32) {
    std::copy_n(from, count, static_cast<float*>(to));
    return;
  }
  auto* halves = static_cast<uint16_t*>(to);
  if (type == ElementType::kBfloat16) {
    for (size_t i = 0; i < count; ++i) halves[i] = ToBfloat16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) halves[i] = ToFloat16(from[i]);
  }
}

}  // namespace evenpack::worker
