#include "server/core/document/invalid_field.h"

namespace evenpack {

absl::Status InvalidField(absl::string_view field, const absl::AlphaNum& value,
                          absl::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not accepted; accepted: ", accepted));
}

}  // namespace evenpack
