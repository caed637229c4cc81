#include "tests/testing/fake_clock.h"

namespace evenpack::testing {

Clock::TimePoint FakeClock::Now() const {
  MutexLock lock(mutex_);
  return now_;
}

void FakeClock::Advance(TimePoint::duration duration) {
  MutexLock lock(mutex_);
  now_ += duration;
}

}  // namespace evenpack::testing
