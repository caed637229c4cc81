#include "server/access/decision.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/access/job_glob.h"
#include "server/access/method_rules.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

// Of a name in an error; that of a job is no longer.
constexpr size_t kMaxShownBytes = 128;

absl::string_view Viewed(std::string_view text) { return {text.data(), text.size()}; }

std::string Shown(const std::string& name) {
  return name.size() <= kMaxShownBytes ? name : "";
}

bool IsNamedIn(const Grant& grant, const Caller& caller) {
  bool named = false;
  // All of them, so that the time says nothing of which it was.
  for (const NamedToken& token : grant.tokens) {
    named |= caller.token.has_value() && SameHash(token.hash, *caller.token);
  }
  for (const Subject& subject : caller.subjects) {
    named |= std::find(grant.subjects.begin(), grant.subjects.end(), subject) !=
             grant.subjects.end();
  }
  return named;
}

bool Gives(Role role, NeededRole needed) {
  switch (needed) {
    case NeededRole::kAny:
      return true;
    case NeededRole::kProducer:
      return role == Role::kProducer || role == Role::kOperator;
    case NeededRole::kConsumer:
      return role == Role::kConsumer || role == Role::kOperator;
    case NeededRole::kOperator:
      return role == Role::kOperator;
  }
  return false;
}

// Of the needed role, for globs that are as asked for.
bool HasRole(const Roles& roles, const Caller& caller, NeededRole needed,
             const std::function<bool(const std::string&)>& fits) {
  return std::any_of(roles.grants.begin(), roles.grants.end(), [&](const Grant& grant) {
    return Gives(grant.role, needed) &&
           std::any_of(grant.jobs.begin(), grant.jobs.end(), fits) &&
           IsNamedIn(grant, caller);
  });
}

bool HasRoleFor(const Roles& roles, const Caller& caller, NeededRole needed,
                const std::string& job) {
  return HasRole(roles, caller, needed,
                 [&job](const std::string& glob) { return MatchesGlob(glob, job); });
}

std::string NameOf(NeededRole role) {
  switch (role) {
    case NeededRole::kAny:
      return "any";
    case NeededRole::kProducer:
      return "producer";
    case NeededRole::kConsumer:
      return "consumer";
    case NeededRole::kOperator:
      return "operator";
  }
  return "";
}

const NamedToken* FindToken(const Roles& roles, const TokenHash& hash) {
  const NamedToken* found = nullptr;
  for (const Grant& grant : roles.grants) {
    for (const NamedToken& token : grant.tokens) {
      if (SameHash(token.hash, hash)) found = &token;
    }
  }
  return found;
}

std::string PeerName(const Roles& roles, const Caller& caller) {
  if (caller.token.has_value()) {
    const NamedToken* const token = FindToken(roles, *caller.token);
    if (token != nullptr) return absl::StrCat("token:", token->name);
  }
  return caller.subjects.empty() ? "" : Shown(FormatSubject(caller.subjects.front()));
}

// Who the caller is comes before what it may do.
absl::Status Identify(const Roles& roles, const Caller& caller) {
  if (caller.authorized &&
      (!caller.token.has_value() || FindToken(roles, *caller.token) == nullptr)) {
    return WithDetail(
        absl::UnauthenticatedError(
            "authorization: not a token that this server knows; accepted: 'Bearer "
            "TOKEN' with a token whose SHA-256 is in its roles file"),
        {"TOKEN_UNKNOWN", {}});
  }
  if (caller.authorized || !caller.subjects.empty()) return absl::OkStatus();
  return WithDetail(
      absl::UnauthenticatedError("authorization: neither a certificate nor a token; "
                                 "accepted: a certificate of "
                                 "the client or 'authorization: Bearer TOKEN'"),
      {"NO_IDENTITY", {}});
}

absl::Status Missing(const Roles& roles, const Caller& caller, NeededRole needed,
                     const std::string& job) {
  const std::string peer = PeerName(roles, caller);
  const std::string role = NameOf(needed);
  const std::string shown = Shown(job);
  const std::string of_job =
      shown.empty() ? "any job" : absl::StrCat("job '", shown, "'");
  return WithDetail(absl::PermissionDeniedError(absl::StrCat(
                        "role: '", peer, "' has not the role '", role, "' for ", of_job,
                        "; accepted: callers to whom the roles file grants it")),
                    {"ROLE_MISSING", {{"role", role}, {"job", shown}, {"peer", peer}}});
}

}  // namespace

absl::Status Decide(const Roles& roles, const Caller& caller, std::string_view method,
                    const std::vector<std::string>& jobs) {
  absl::Status identified = Identify(roles, caller);
  if (!identified.ok()) return identified;
  const MethodRule* const rule = FindMethodRule(method);
  if (rule == nullptr || (rule->scope == JobScope::kNamed && jobs.empty())) {
    return absl::PermissionDeniedError(
        absl::StrCat("method: '", Viewed(method), "' is open to nobody"));
  }
  switch (rule->scope) {
    case JobScope::kNamed:
      for (const std::string& job : jobs) {
        if (HasRoleFor(roles, caller, rule->role, job)) continue;
        return Missing(roles, caller, rule->role, job);
      }
      return absl::OkStatus();
    case JobScope::kSome:
      return DecideToOpen(roles, caller, method);
    case JobScope::kEveryJob:
      if (HasRole(roles, caller, rule->role,
                  [](const std::string& glob) { return glob == kAllJobs; })) {
        return absl::OkStatus();
      }
      return Missing(roles, caller, rule->role, std::string(kAllJobs));
  }
  return absl::InternalError("scope");
}

absl::Status DecideToOpen(const Roles& roles, const Caller& caller,
                          std::string_view method) {
  absl::Status identified = Identify(roles, caller);
  if (!identified.ok()) return identified;
  const MethodRule* const rule = FindMethodRule(method);
  if (rule == nullptr) return Decide(roles, caller, method, {});
  const bool some =
      HasRole(roles, caller, rule->role, [](const std::string&) { return true; });
  return some ? absl::OkStatus() : Missing(roles, caller, rule->role, "");
}

bool MaySee(const Roles& roles, const Caller& caller, const std::string& job) {
  return Identify(roles, caller).ok() &&
         HasRoleFor(roles, caller, NeededRole::kAny, job);
}

}  // namespace evenpack
