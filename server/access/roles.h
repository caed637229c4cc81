// Who has which role for which jobs: what a roles file says.
#ifndef EVENPACK_SERVER_ACCESS_ROLES_H_
#define EVENPACK_SERVER_ACCESS_ROLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/subject.h"
#include "server/access/token_hash.h"

namespace evenpack {

enum class Role : uint8_t {
  kProducer,  // sends documents
  kConsumer,  // takes steps, reports on them, looks at them
  kOperator,  // both, and makes, changes and deletes
};

// As files and errors have them.
inline constexpr std::string_view kRoleNames[] = {"producer", "consumer", "operator"};

struct NamedToken {
  // Of the caller, in errors and logs. Several may have one name: an old and a new one.
  std::string name;
  TokenHash hash = {};
};

struct Grant {
  Role role = Role::kConsumer;
  std::vector<std::string> jobs;  // globs
  std::vector<Subject> subjects;
  std::vector<NamedToken> tokens;
};

struct Roles {
  std::vector<Grant> grants;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_ROLES_H_
