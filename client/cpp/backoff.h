// How long to wait before another attempt: exponential, with jitter, and an end.
#ifndef EVENPACK_CLIENT_CPP_BACKOFF_H_
#define EVENPACK_CLIENT_CPP_BACKOFF_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/retry_news.h"
#include "server/runtime/clock.h"

namespace evenpack::client {

// The longest time that a client may be told, a hundred years: added to any that a
// clock shows, it is one whose nanoseconds can be counted.
inline constexpr std::chrono::milliseconds kLongestWait{3'155'760'000'000};

// INVALID_ARGUMENT naming the field, where `value` is not from `least` to `most`.
absl::Status CheckWait(absl::string_view field, std::chrono::milliseconds value,
                       std::chrono::milliseconds least, std::chrono::milliseconds most);

struct BackoffOptions {
  // Before the second attempt; above 0.
  std::chrono::milliseconds initial{100};
  // Each wait is so many times the one before; at least 1.
  double factor = 1.6;
  // No wait is longer, jitter apart; `initial` to kLongestWait.
  std::chrono::milliseconds maximum{10'000};
  // Each wait is multiplied by a number drawn from [1 - jitter, 1 + jitter), so that
  // clients that failed together don't come back together. 0 to 1.
  double jitter = 0.2;
  // The last attempt of a row of failures is started so long after the first of them.
  // 0: a failure is final. Up to kLongestWait.
  std::chrono::milliseconds total{600'000};
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const BackoffOptions& options);

// Who is told of a row of failures, and of what.
struct RetryTold {
  std::string what = {};
  // May be empty.
  RetryListener listener = {};
};

// The waits of one row of failures. Not thread-safe.
class Backoff {
 public:
  // `random` draws from [0, 1). `clock` and `random` must outlive the object.
  Backoff(const BackoffOptions& options, const Clock& clock,
          const std::function<double()>& random, RetryTold told = {});

  // After a failure: how long to wait before the next attempt, `at_least` where the
  // server asked for a pause; none if no attempt is left. A wait that would go beyond
  // the total ends with it, so that a server that comes back within it is found.
  std::optional<std::chrono::nanoseconds> NextDelay(
      std::chrono::nanoseconds at_least = std::chrono::nanoseconds::zero());
  // Tells of the last failure, which was this one and which another attempt follows.
  void Tell(const absl::Status& why);
  // After a success, which is told where failures of the row were: the next failure is
  // the first of its row.
  void Succeeded();
  // Likewise where nothing is wanted any more, which isn't told.
  void Reset();
  // The total counts from now on: nobody has waited so far. Waits stay as long as they
  // have become.
  void RestartTotal() { first_failure_ = clock_.Now(); }
  // Failures in a row.
  int failures() const { return failures_; }

 private:
  BackoffOptions options_;
  const Clock& clock_;
  const std::function<double()>& random_;
  const RetryTold told_;
  int failures_ = 0;
  bool is_told_ = false;
  // The first and the last failure of the row.
  Clock::TimePoint began_;
  Clock::TimePoint last_failure_;
  // From when the total counts.
  Clock::TimePoint first_failure_;
  std::chrono::duration<double> delay_{};
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_BACKOFF_H_
