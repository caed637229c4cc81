#include "server/access/access_control.h"

#include <utility>

#include "server/runtime/log.h"
#include "server/runtime/status_detail.h"

namespace evenpack {

AccessControl::AccessControl(Roles roles)
    : roles_(std::make_shared<const Roles>(std::move(roles))) {}

void AccessControl::SetRoles(Roles roles) {
  auto next = std::make_shared<const Roles>(std::move(roles));
  MutexLock lock(mutex_);
  roles_ = std::move(next);
}

absl::Status AccessControl::Decide(const Caller& caller, std::string_view method,
                                   const std::vector<std::string>& jobs) {
  return Counted(evenpack::Decide(*roles(), caller, method, jobs), method);
}

absl::Status AccessControl::DecideToOpen(const Caller& caller,
                                         std::string_view method) {
  return Counted(evenpack::DecideToOpen(*roles(), caller, method), method);
}

std::function<bool(const std::string&)> AccessControl::SeenBy(
    const Caller& caller) const {
  return [roles = roles(), caller](const std::string& job) {
    return MaySee(*roles, caller, job);
  };
}

std::array<uint64_t, AccessControl::kReasons.size()> AccessControl::DeniedCalls()
    const {
  std::array<uint64_t, kReasons.size()> calls{};
  for (size_t i = 0; i < calls.size(); ++i) calls[i] = denied_[i];
  return calls;
}

std::shared_ptr<const Roles> AccessControl::roles() const {
  MutexLock lock(mutex_);
  return roles_;
}

absl::Status AccessControl::Counted(absl::Status status, std::string_view method) {
  if (status.ok()) return status;
  const StatusDetail detail = DetailOf(status);
  for (size_t i = 0; i < kReasons.size(); ++i) {
    if (detail.reason == kReasons[i]) ++denied_[i];
  }
  LogFields fields = {{"method", std::string(method)}, {"reason", detail.reason}};
  fields.insert(fields.end(), detail.values.begin(), detail.values.end());
  Log(LogLevel::kDebug, "call denied", fields);
  return status;
}

}  // namespace evenpack
