#include "gpu_worker/sidecar/lost_server_log.h"

#include "server/runtime/log.h"

namespace evenpack::worker {

bool LostServerLog::IsDue() {
  const Clock::TimePoint now = clock_.Now();
  MutexLock lock(mutex_);
  if (told_.has_value() && now - *told_ < kBetween) return false;
  told_ = now;
  return true;
}

void LostServerLog::Lost(const std::string& job, const absl::Status& why) {
  if (!IsDue()) return;
  Log(LogLevel::kWarning, "the packing server can't be reached",
      {{"server", server_}, {"job", job}, {"error", std::string(why.message())}});
}

}  // namespace evenpack::worker
