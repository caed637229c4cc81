// A text of roles is refused by its line, or gives grants that each say whom, what and
// for which jobs; and whoever is in none of them may do nothing.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "server/access/decision.h"
#include "server/access/job_glob.h"
#include "server/access/method_rules.h"
#include "server/access/roles_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

void RequireWhole(const Grant& grant) {
  Require(!grant.jobs.empty(), "a grant has jobs");
  Require(!grant.subjects.empty() || !grant.tokens.empty(), "a grant is somebody's");
  for (const std::string& job : grant.jobs) Require(IsJobGlob(job), "a pattern", job);
  for (const Subject& subject : grant.subjects) {
    const std::string text = FormatSubject(subject);
    Require(Required(ParseSubject(text), "a subject's text") == subject,
            "a subject is read as it is written", text);
  }
}

void RequireNothingForOthers(const Roles& roles) {
  const Caller nobody = {{{Subject::Kind::kName, ""}}};
  const Caller with_token = {{}, true, HashOfToken("a token that no input guesses")};
  for (const MethodRule& rule : MethodRules()) {
    for (const Caller& caller : {Caller(), nobody, with_token}) {
      Require(!Decide(roles, caller, rule.method, {"a", "b"}).ok(),
              "nobody may nothing");
      Require(!DecideToOpen(roles, caller, rule.method).ok(), "nor open a stream");
    }
  }
}

void ReadRoles(const std::string& text) {
  const absl::StatusOr<Roles> roles = ParseRoles(text);
  if (!roles.ok()) {
    RequireRefusal(roles.status(), "what are no roles",
                   absl::StatusCode::kInvalidArgument);
    Require(absl::StartsWith(roles.status().message(), "roles: line "),
            "a refusal names the line", roles.status().message());
    return;
  }
  for (const Grant& grant : roles->grants) RequireWhole(grant);
  RequireNothingForOthers(*roles);
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  evenpack::fuzz::ReadRoles(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
