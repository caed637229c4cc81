// Structs of the C API, which callers of other versions fill: newer ones have more
// fields.
#ifndef EVENPACK_GPU_WORKER_C_API_SIZED_STRUCT_H_
#define EVENPACK_GPU_WORKER_C_API_SIZED_STRUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {

// More than a struct will ever have: a size that was not set is refused, rather than
// that what lies behind the struct is read or written.
inline constexpr size_t kMostStructBytes = 4096;

// `least`: the bytes of its first version.
template <typename Struct>
absl::Status CheckStruct(absl::string_view name, const Struct* given,
                         size_t least = sizeof(Struct)) {
  static_assert(sizeof(Struct) <= kMostStructBytes);
  if (given == nullptr) return InvalidField(name, "NULL", "a struct");
  const size_t size = given->struct_size;
  if (size >= least && size <= kMostStructBytes) return absl::OkStatus();
  return InvalidField(absl::StrCat(name, ".struct_size"), size,
                      absl::StrCat(least, " to ", kMostStructBytes));
}

// One that is read: where it may be shorter, by WholeOf.
template <typename Struct>
absl::Status CheckInput(absl::string_view name, const Struct* given,
                        size_t least = sizeof(Struct)) {
  absl::Status status = CheckStruct(name, given, least);
  if (!status.ok()) return status;
  if (given->struct_size <= sizeof(Struct)) return status;
  const char* const bytes = reinterpret_cast<const char*>(given);
  if (std::all_of(bytes + sizeof(Struct), bytes + given->struct_size,
                  [](char byte) { return byte == 0; })) {
    return absl::OkStatus();
  }
  return InvalidField(
      absl::StrCat(name, ".struct_size"), given->struct_size,
      absl::StrCat(sizeof(Struct), ", or 0 in the fields that this library lacks"));
}

// With 0 in the fields that the caller doesn't know of.
template <typename Struct>
Struct WholeOf(const Struct& given) {
  Struct whole{};
  std::memcpy(static_cast<void*>(&whole), &given,
              std::min(given.struct_size, sizeof(Struct)));
  return whole;
}

// One that is written: all of it is 0 then.
template <typename Struct>
absl::Status CheckOutput(absl::string_view name, Struct* given) {
  if (absl::Status status = CheckStruct(name, given); !status.ok()) return status;
  const size_t size = given->struct_size;
  std::memset(static_cast<void*>(given), 0, size);
  given->struct_size = size;
  return absl::OkStatus();
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_SIZED_STRUCT_H_
