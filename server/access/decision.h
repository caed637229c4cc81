// The one place that decides whether a caller may make a call.
#ifndef EVENPACK_SERVER_ACCESS_DECISION_H_
#define EVENPACK_SERVER_ACCESS_DECISION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/access/roles.h"

namespace evenpack {

// What a call brings to show whose it is.
struct Caller {
  // Of the certificate that its connection verified; empty without one.
  std::vector<Subject> subjects = {};
  // An authorization was given; without a hash, one that holds no token.
  bool authorized = false;
  std::optional<TokenHash> token = std::nullopt;
};

// Whether the caller may call `method` (method_rules.h) for jobs of these names, be
// there such jobs or not: the answer to who may not never depends on it. A certificate
// and a token together have the roles of both.
// UNAUTHENTICATED: NO_IDENTITY, neither is given; TOKEN_UNKNOWN, also beside a
// certificate that would do. PERMISSION_DENIED: ROLE_MISSING, with the role, the first
// job that it lacks for, and the peer.
absl::Status Decide(const Roles& roles, const Caller& caller, std::string_view method,
                    const std::vector<std::string>& jobs);

// The same of a stream before its first message names the job: the role for any job.
absl::Status DecideToOpen(const Roles& roles, const Caller& caller,
                          std::string_view method);

// Whether the caller has any role for the job, and may so be told that it is there.
bool MaySee(const Roles& roles, const Caller& caller, const std::string& job);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_DECISION_H_
