#include "server/service/field_path.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {

absl::Status Renamed(absl::string_view field, const absl::Status& status) {
  const std::string refused = RefusedField(status);
  absl::string_view message = status.message();
  if (refused.empty() || !absl::ConsumePrefix(&message, refused)) return status;
  absl::Status renamed(status.code(), absl::StrCat(field, message));
  status.ForEachPayload([&renamed](absl::string_view url, const absl::Cord& value) {
    renamed.SetPayload(url, value);
  });
  renamed.SetPayload(kFieldPayload, absl::Cord(field));
  return renamed;
}

absl::Status Under(absl::string_view outer, const absl::Status& status) {
  const std::string refused = RefusedField(status);
  if (refused.empty()) return status;
  return Renamed(absl::StrCat(outer, ".", refused), status);
}

}  // namespace evenpack
