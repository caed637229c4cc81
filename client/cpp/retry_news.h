// What a client tells of attempts that fail and are made again, as while its server is
// away, so that whoever waits can know for what.
#ifndef EVENPACK_CLIENT_CPP_RETRY_NEWS_H_
#define EVENPACK_CLIENT_CPP_RETRY_NEWS_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/clock.h"

namespace evenpack::client {

// Of one call or session.
struct RetryNews {
  // What is tried, such as "ListJobs" or "feeding stream 'web' of job 'run'".
  std::string what;
  // Why the last attempt failed; OK: the one behind it did not.
  absl::Status why;
  // From the first of the failures to the last.
  std::chrono::nanoseconds failing{};
  // How long it is tried on; 0 where `why` is OK.
  std::chrono::nanoseconds left{};
};

// Called by the threads that try, several at a time and under no lock of the client's:
// behind each failure that another attempt follows, and when one succeeded behind such.
// It should return soon, and must not destroy the session that it is told of.
using RetryListener = std::function<void(const RetryNews&)>;

// One line for a person or a log, without an end of line.
std::string TextOf(const RetryNews& news);

struct RetryPace {
  // What fails no longer isn't told: servers are restarted, and jobs handed over.
  std::chrono::milliseconds quiet{5'000};
  // From one failure that is told to the next.
  std::chrono::milliseconds between{60'000};
};

// Where somebody waits at a terminal.
inline constexpr RetryPace kTerminalPace{.quiet = std::chrono::seconds(2),
                                         .between = std::chrono::seconds(10)};

// Has `listener` told at that pace, whatever it is that fails, and of the success
// behind what it was told of. `clock` must outlive it.
RetryListener Seldom(RetryPace pace, RetryListener listener,
                     const Clock& clock = Clock::Steady());

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_RETRY_NEWS_H_
