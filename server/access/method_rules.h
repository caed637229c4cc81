// Which role each call of the API needs, and for which jobs: docs/security.md shows it.
#ifndef EVENPACK_SERVER_ACCESS_METHOD_RULES_H_
#define EVENPACK_SERVER_ACCESS_METHOD_RULES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace evenpack {

// An operator has what the others have.
enum class NeededRole : uint8_t { kAny, kProducer, kConsumer, kOperator };

enum class JobScope : uint8_t {
  kNamed,     // the jobs that the request names, each of them
  kSome,      // any job: the call is about none, or shows those alone that one may see
  kEveryJob,  // "*": what the call changes is all jobs'
};

struct MethodRule {
  // Without its service; no two of the API are alike. Its request is METHODRequest.
  std::string_view method;
  NeededRole role = NeededRole::kOperator;
  JobScope scope = JobScope::kNamed;
  // Where the request, or the first message of a stream, names jobs: paths of fields.
  // Empty from the first that isn't.
  std::array<std::string_view, 2> job_fields = {};
};

std::span<const MethodRule> MethodRules();

// Null for a method that has none, which nobody may call.
const MethodRule* FindMethodRule(std::string_view method);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_METHOD_RULES_H_
