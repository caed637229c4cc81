// A clock that moves when a test says so.
#ifndef EVENPACK_TESTS_TESTING_FAKE_CLOCK_H_
#define EVENPACK_TESTS_TESTING_FAKE_CLOCK_H_

#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe.
class FakeClock final : public Clock {
 public:
  TimePoint Now() const override;
  // `duration`: 0 or more.
  void Advance(TimePoint::duration duration);

 private:
  mutable Mutex mutex_;
  // Not the clock's epoch, so that a difference to a time never set shows.
  TimePoint now_ EVENPACK_GUARDED_BY(mutex_){std::chrono::hours(1)};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_FAKE_CLOCK_H_
