// Time for tests of programs that use the client: it passes when the test says so, and
// when the client sleeps, which takes no time.
//
//   FakeClock clock;
//   ClientOptions options;
//   options.clock = &clock;
//   options.sleeper = std::make_shared<FakeSleeper>(clock);
#ifndef EVENPACK_CLIENT_CPP_MOCKS_FAKE_CLOCK_H_
#define EVENPACK_CLIENT_CPP_MOCKS_FAKE_CLOCK_H_

#include <chrono>
#include <stop_token>
#include <vector>

#include "client/cpp/sleeper.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// Thread-safe.
class FakeClock final : public Clock {
 public:
  TimePoint Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  // `duration`: 0 or more.
  void Advance(TimePoint::duration duration) {
    MutexLock lock(mutex_);
    now_ += duration;
  }

 private:
  mutable Mutex mutex_;
  // Not the clock's epoch, so that a time that was never set shows.
  TimePoint now_ EVENPACK_GUARDED_BY(mutex_){std::chrono::hours(1)};
};

// Thread-safe. Sleeping advances the clock and returns.
class FakeSleeper final : public Sleeper {
 public:
  // `clock` must outlive the object.
  explicit FakeSleeper(FakeClock& clock) : clock_(clock) {}

  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    if (stop.stop_requested()) return false;
    clock_.Advance(duration);
    MutexLock lock(mutex_);
    slept_.push_back(duration);
    return true;
  }

  // Every sleep so far, in order.
  std::vector<std::chrono::nanoseconds> slept() const {
    MutexLock lock(mutex_);
    return slept_;
  }

 private:
  FakeClock& clock_;
  mutable Mutex mutex_;
  std::vector<std::chrono::nanoseconds> slept_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_MOCKS_FAKE_CLOCK_H_
