// What the log is to say of how commits end.
#ifndef EVENPACK_SERVER_CONTROL_COMMIT_NEWS_H_
#define EVENPACK_SERVER_CONTROL_COMMIT_NEWS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/clock.h"

namespace evenpack {

// A store that is away fails every commit: the log has each cause once, and an end.
// Where causes come and go, it has two lines in kPause. Not thread-safe.
class CommitNews {
 public:
  enum class Line : uint8_t { kNone, kFailed, kSucceedAgain };

  static constexpr std::chrono::seconds kPause{10};

  // `clock` outlives it.
  explicit CommitNews(const Clock& clock = Clock::Steady()) : clock_(clock) {}

  // A commit ended so. kFailed: for another cause than the one told last, since which
  // kPause has passed or this is the first. kSucceedAgain: the first that did since one
  // was told.
  Line After(const absl::Status& status);

 private:
  const Clock& clock_;
  // Message of the failure that was told and has not ended; empty: none.
  std::string told_;
  bool was_any_ = false;
  Clock::TimePoint told_at_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_COMMIT_NEWS_H_
