// What a status says to programs besides its code: a reason and named values, which the
// service turns into google.rpc.ErrorInfo.
#ifndef EVENPACK_SERVER_RUNTIME_STATUS_DETAIL_H_
#define EVENPACK_SERVER_RUNTIME_STATUS_DETAIL_H_

#include <map>
#include <string>

#include "absl/status/status.h"

namespace evenpack {

struct StatusDetail {
  // UPPER_SNAKE_CASE; docs/api.md lists them.
  std::string reason;
  std::map<std::string, std::string> values;

  friend bool operator==(const StatusDetail&, const StatusDetail&) = default;
};

// The reason of a disk that is full: there may be room again.
inline constexpr char kStoreFull[] = "STORE_FULL";
// Of a store that fails otherwise.
inline constexpr char kStoreFailed[] = "STORE_FAILED";

// Of what a store holds whole, in a version that this program doesn't know.
inline constexpr char kStoreOtherVersion[] = "STORE_OTHER_VERSION";

// `status`, which is not OK, with the detail attached in place of an earlier one.
absl::Status WithDetail(absl::Status status, const StatusDetail& detail);

// The detail attached to a status; empty where there is none.
StatusDetail DetailOf(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_STATUS_DETAIL_H_
