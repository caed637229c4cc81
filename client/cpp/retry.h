// Which errors go away by themselves.
#ifndef EVENPACK_CLIENT_CPP_RETRY_H_
#define EVENPACK_CLIENT_CPP_RETRY_H_

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/backoff.h"
#include "client/cpp/sleeper.h"

namespace evenpack::client {

// Doing the same again can help: UNAVAILABLE; RESOURCE_EXHAUSTED where the server says
// when to come back; DEADLINE_EXCEEDED without the server's ErrorInfo, by which an
// attempt had no answer in its time.
bool IsRetryable(const absl::Status& status);

// Of a stream that ended though nobody wanted it to: the call was lost rather than
// refused. Besides what is retryable these are OK, CANCELLED, INTERNAL and UNKNOWN
// without the ErrorInfo that the server puts on every error of its own: a server that
// went, a proxy that gave up, a reset connection.
bool IsLostCall(const absl::Status& status);

// What the server asks to wait; 0 where it doesn't say.
std::chrono::nanoseconds RequestedDelay(const absl::Status& status);

// `status`, whose details stay, with `text` behind its message.
absl::Status Annotated(const absl::Status& status, const std::string& text);

// Tells of the failure, and waits before the next attempt; neither where the first
// failure of a row names the server that leads the job now. False: there is none, since
// the back-off has come to its end or `stop` was requested.
bool WaitToRetry(const absl::Status& status, Backoff& backoff, Sleeper& sleeper,
                 const std::stop_token& stop);

// The error that remains when WaitToRetry has said false.
absl::Status GaveUp(const absl::Status& status, const Backoff& backoff);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_RETRY_H_
