#include "server/core/document/invalid_field.h"

#include <array>
#include <charconv>

#include "absl/strings/cord.h"

namespace evenpack {

absl::Status InvalidField(absl::string_view field, const absl::AlphaNum& value,
                          absl::string_view accepted) {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not accepted; accepted: ", accepted));
  status.SetPayload(kFieldPayload, absl::Cord(field));
  return status;
}

std::string ShortestText(double value) {
  std::array<char, 32> text{};
  return {text.begin(), std::to_chars(text.begin(), text.end(), value).ptr};
}

absl::Status CheckBytes(absl::string_view field, absl::string_view value, size_t least,
                        size_t most) {
  if (value.size() >= least && value.size() <= most) return absl::OkStatus();
  return InvalidField(field, absl::StrCat(value.size(), " bytes"),
                      absl::StrCat(least, " to ", most, " bytes"));
}

std::string RefusedField(const absl::Status& status) {
  const auto field = status.GetPayload(kFieldPayload);
  return field.has_value() ? std::string(*field) : std::string();
}

}  // namespace evenpack
