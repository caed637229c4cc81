// The roles file: YAML.
//
//   grants:
//     - role: operator             # producer | consumer | operator
//       jobs: ["*"]                # globs over the names of jobs (job_glob.h)
//       subjects: ["CN=ops"]       # of certificates (subject.h)
//       tokens: ["alice:SHA-256 of a token, in hex"]
#ifndef EVENPACK_SERVER_ACCESS_ROLES_FILE_H_
#define EVENPACK_SERVER_ACCESS_ROLES_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/access/roles.h"

namespace evenpack {

// INVALID_ARGUMENT "roles: line L: FIELD: ...", which shows nothing of a token: what is
// no hash may be one in clear. A text without grants is refused, so that a file that is
// just being written locks nobody out; "grants: []" is an answer.
absl::StatusOr<Roles> ParseRoles(const std::string& text);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_ROLES_FILE_H_
