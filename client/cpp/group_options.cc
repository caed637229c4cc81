#include "absl/strings/str_cat.h"
#include "client/cpp/group_member.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"

namespace evenpack::client {

absl::Status Validate(const GroupOptions& options) {
  if (options.job.empty()) return InvalidField("job", "''", "the name of a job");
  if (options.cp_size == 0) return InvalidField("cp_size", 0, "1 or more");
  absl::Status status = CheckRange("cp_rank", options.cp_rank, 0, options.cp_size - 1);
  status.Update(CheckBytes("member", options.member, 1, kMaxMemberBytes));
  return status;
}

}  // namespace evenpack::client
