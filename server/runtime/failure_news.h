// What the log is to say of something that is tried again and again.
#ifndef EVENPACK_SERVER_RUNTIME_FAILURE_NEWS_H_
#define EVENPACK_SERVER_RUNTIME_FAILURE_NEWS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/clock.h"

namespace evenpack {

// A store that is away fails every commit: the log has each cause once, and an end.
// Where causes come and go, it has two lines in a pause. Not thread-safe.
class FailureNews {
 public:
  enum class Line : uint8_t { kNone, kFailed, kSucceedAgain };

  // `pause` 0: each cause is told at once. `clock` outlives it.
  explicit FailureNews(std::chrono::seconds pause, const Clock& clock = Clock::Steady())
      : pause_(pause), clock_(clock) {}

  // A try ended so. kFailed: for another cause than the one told last, since which the
  // pause has passed or this is the first. kSucceedAgain: the first that did since one
  // was told.
  Line After(const absl::Status& status);

 private:
  const std::chrono::seconds pause_;
  const Clock& clock_;
  // Message of the failure that was told and has not ended; empty: none.
  std::string told_;
  bool was_any_ = false;
  Clock::TimePoint told_at_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_FAILURE_NEWS_H_
