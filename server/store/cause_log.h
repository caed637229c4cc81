// Why something fails again and again, in the log.
#ifndef EVENPACK_SERVER_STORE_CAUSE_LOG_H_
#define EVENPACK_SERVER_STORE_CAUSE_LOG_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/runtime/log.h"

namespace evenpack {

// Not thread-safe.
class CauseLog {
 public:
  // `what` fails.
  explicit CauseLog(std::string what) : what_(std::move(what)) {}

  // How it went. Logged where it failed otherwise than the last time.
  void Note(const absl::Status& status) {
    std::string why(status.message());
    if (!status.ok() && why != told_) Log(LogLevel::kWarning, what_, {{"error", why}});
    told_ = std::move(why);
  }

 private:
  const std::string what_;
  std::string told_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_CAUSE_LOG_H_
