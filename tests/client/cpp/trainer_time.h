// Time that passes with a trainer's steps: whoever sleeps waits for the trainer.
#ifndef EVENPACK_TESTS_CLIENT_CPP_TRAINER_TIME_H_
#define EVENPACK_TESTS_CLIENT_CPP_TRAINER_TIME_H_

#include <chrono>
#include <functional>
#include <set>
#include <stop_token>

#include "client/cpp/sleeper.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe.
class TrainerTime final : public Clock, public client::Sleeper {
 public:
  TimePoint Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  void Advance(TimePoint::duration duration) {
    MutexLock lock(mutex_);
    now_ += duration;
    changed_.SignalAll();
  }
  // And will, until time passes.
  bool SomebodySleeps() const {
    MutexLock lock(mutex_);
    return !wakes_.empty() && *wakes_.begin() > now_;
  }

  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    const std::stop_callback on_stop(stop, [this] {
      MutexLock lock(mutex_);
      changed_.SignalAll();
    });
    MutexLock lock(mutex_);
    const auto wake = wakes_.insert(now_ + duration);
    while (now_ < *wake && !stop.stop_requested()) changed_.Wait(mutex_);
    wakes_.erase(wake);
    return !stop.stop_requested();
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  TimePoint now_ EVENPACK_GUARDED_BY(mutex_){std::chrono::hours(1)};
  // When those who sleep want to wake.
  std::multiset<TimePoint> wakes_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_TRAINER_TIME_H_
