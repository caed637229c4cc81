// What tensors hold.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_ELEMENT_TYPE_H_
#define EVENPACK_GPU_WORKER_ATTENTION_ELEMENT_TYPE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace evenpack::worker {

enum class ElementType : uint8_t { kFloat32, kBfloat16, kFloat16 };

inline constexpr ElementType kElementTypes[] = {
    ElementType::kFloat32, ElementType::kBfloat16, ElementType::kFloat16};

absl::string_view ElementTypeName(ElementType type);
// The type of that name; none where there is no such type.
std::optional<ElementType> ElementTypeNamed(absl::string_view name);
constexpr size_t BytesOf(ElementType type) {
  return type == ElementType::kFloat32 ? 4 : 2;
}

// `count` elements that lie one after another, as floats; exact.
void Load(ElementType type, const void* from, size_t count, float* to);
// Rounded to the nearest, ties to even; what is too large becomes infinite.
void Store(ElementType type, const float* from, size_t count, void* to);

// The upper half of a float.
inline float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}
uint16_t ToBfloat16(float value);
// IEEE 754 binary16.
float FromFloat16(uint16_t bits);
uint16_t ToFloat16(float value);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_ELEMENT_TYPE_H_
