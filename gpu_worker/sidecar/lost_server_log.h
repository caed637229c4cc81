// What a worker's log has of a packing server that it can't reach.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_LOST_SERVER_LOG_H_
#define EVENPACK_GPU_WORKER_SIDECAR_LOST_SERVER_LOG_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Thread-safe.
class LostServerLog {
 public:
  // Between two lines: a worker tries every few seconds, for days maybe.
  static constexpr std::chrono::minutes kBetween{5};

  // `server` as the worker was given it. `clock` outlives it.
  LostServerLog(std::string server, const Clock& clock)
      : server_(std::move(server)), clock_(clock) {}

  // A call for the job was lost, and will be tried again.
  void Lost(const std::string& job, const absl::Status& why);

 private:
  bool IsDue();

  const std::string server_;
  const Clock& clock_;
  Mutex mutex_;
  std::optional<Clock::TimePoint> told_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_LOST_SERVER_LOG_H_
