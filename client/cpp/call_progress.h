// When a stream's call ends a row of failures.
#ifndef EVENPACK_CLIENT_CPP_CALL_PROGRESS_H_
#define EVENPACK_CLIENT_CPP_CALL_PROGRESS_H_

#include <chrono>

#include "client/cpp/backoff.h"
#include "server/runtime/clock.h"

namespace evenpack::client {

// Of one call. That a server answers is no success yet: one whose store refuses every
// commit opens calls, and ends each as soon as it is to keep something. What ends the
// row is what the call was for, or a call that lasted, as one does that has nothing to
// bring. Not thread-safe.
class CallProgress {
 public:
  // Both must outlive the object. `lasting`: from its first answer on, above 0.
  CallProgress(Backoff& backoff, const Clock& clock, std::chrono::nanoseconds lasting)
      : backoff_(backoff), clock_(clock), lasting_(lasting) {}

  // The server has said something.
  void Answered();
  // It has done something that the call is for. Under no lock of the session's.
  void GotOn() { backoff_.Succeeded(); }
  // The call is over.
  void Ended();

 private:
  Backoff& backoff_;
  const Clock& clock_;
  const std::chrono::nanoseconds lasting_;
  bool is_answered_ = false;
  Clock::TimePoint answered_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CALL_PROGRESS_H_
