#include "server/core/document/invalid_field.h"

#include "absl/strings/cord.h"

namespace evenpack {

absl::Status InvalidField(absl::string_view field, const absl::AlphaNum& value,
                          absl::string_view accepted) {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not accepted; accepted: ", accepted));
  status.SetPayload(kFieldPayload, absl::Cord(field));
  return status;
}

std::string RefusedField(const absl::Status& status) {
  const auto field = status.GetPayload(kFieldPayload);
  return field.has_value() ? std::string(*field) : std::string();
}

}  // namespace evenpack
