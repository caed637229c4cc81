// The roles that hold now, and what was refused by them.
#ifndef EVENPACK_SERVER_ACCESS_ACCESS_CONTROL_H_
#define EVENPACK_SERVER_ACCESS_ACCESS_CONTROL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/access/decision.h"
#include "server/access/roles.h"
#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe.
class AccessControl {
 public:
  // Of Decide (decision.h), in the order of DeniedCalls.
  static constexpr std::array<std::string_view, 3> kReasons = {
      "NO_IDENTITY", "TOKEN_UNKNOWN", "ROLE_MISSING"};

  explicit AccessControl(Roles roles);

  // Decisions from now on are by these.
  void SetRoles(Roles roles);

  // decision.h's, by the roles that hold; who is refused counts, and is logged for who
  // looks for a mistake: never with what it showed.
  absl::Status Decide(const Caller& caller, std::string_view method,
                      const std::vector<std::string>& jobs);
  absl::Status DecideToOpen(const Caller& caller, std::string_view method);
  // MaySee by the roles that hold when it is called, for as long as it is kept.
  std::function<bool(const std::string&)> SeenBy(const Caller& caller) const;

  // How often, by kReasons.
  std::array<uint64_t, kReasons.size()> DeniedCalls() const;

 private:
  std::shared_ptr<const Roles> roles() const;
  absl::Status Counted(absl::Status status, std::string_view method);

  mutable Mutex mutex_;
  std::shared_ptr<const Roles> roles_ EVENPACK_GUARDED_BY(mutex_);
  std::array<std::atomic<uint64_t>, kReasons.size()> denied_{};
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_ACCESS_CONTROL_H_
