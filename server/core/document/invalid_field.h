// The one wording of a refused input: which field, which value, what is accepted.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// INVALID_ARGUMENT "FIELD: VALUE is not accepted; accepted: ACCEPTED".
absl::Status InvalidField(absl::string_view field, const absl::AlphaNum& value,
                          absl::string_view accepted);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_INVALID_FIELD_H_
