// The one wording of a refused input: which field, which value, what is accepted.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// The status payload that holds the name of the refused field, so that a server can
// answer with it.
inline constexpr absl::string_view kFieldPayload = "evenpack.field";

// INVALID_ARGUMENT "FIELD: VALUE is not accepted; accepted: ACCEPTED", with the payload
// kFieldPayload.
absl::Status InvalidField(absl::string_view field, const absl::AlphaNum& value,
                          absl::string_view accepted);

// With the digits that tell `value` from any other.
std::string ShortestText(double value);

template <std::same_as<double> Number>
absl::Status InvalidField(absl::string_view field, Number value,
                          absl::string_view accepted) {
  return InvalidField(field, ShortestText(value), accepted);
}

// The field that `status` refuses, as InvalidField named it; empty where it names none.
std::string RefusedField(const absl::Status& status);

// InvalidField where `value` is not from `least` to `most`.
template <std::integral Number>
absl::Status CheckRange(absl::string_view field, Number value,
                        std::type_identity_t<Number> least,
                        std::type_identity_t<Number> most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(field, value, absl::StrCat(least, " to ", most));
}

// InvalidField where `value` has not `least` to `most` bytes.
absl::Status CheckBytes(absl::string_view field, absl::string_view value, size_t least,
                        size_t most);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_
