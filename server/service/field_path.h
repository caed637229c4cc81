// The path of a refused field, put together on the way out of nested messages.
#ifndef EVENPACK_SERVER_SERVICE_FIELD_PATH_H_
#define EVENPACK_SERVER_SERVICE_FIELD_PATH_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// `status`, which refuses FIELD (server/core/document/invalid_field.h), as one that
// refuses OUTER.FIELD; any other as it is.
absl::Status Under(absl::string_view outer, const absl::Status& status);

// As one that refuses `field`, whatever it refused.
absl::Status Renamed(absl::string_view field, const absl::Status& status);

template <typename T>
absl::StatusOr<T> InField(absl::string_view outer, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return Under(outer, result.status());
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_FIELD_PATH_H_
