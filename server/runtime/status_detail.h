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

// `status`, which is not OK, with the detail attached in place of an earlier one.
absl::Status WithDetail(absl::Status status, const StatusDetail& detail);

// The detail attached to a status; empty where there is none.
StatusDetail DetailOf(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_STATUS_DETAIL_H_
