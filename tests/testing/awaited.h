// A value that another thread delivers through a callback.
//
//   Awaited<absl::Status> done;
//   job->Submit(command, done);
//   EXPECT_THAT(done.Get(), IsOk());
#ifndef EVENPACK_TESTS_TESTING_AWAITED_H_
#define EVENPACK_TESTS_TESTING_AWAITED_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Copies share the value, so that one can be the callback. Thread-safe.
template <typename T>
class Awaited {
 public:
  // Fails the test where there is a value already.
  void operator()(const T& value) const {
    State& state = *state_;
    MutexLock lock(state.mutex);
    if (state.value.has_value()) ADD_FAILURE() << "called back twice";
    state.value = value;
    state.changed.SignalAll();
  }

  bool IsSet() const {
    State& state = *state_;
    MutexLock lock(state.mutex);
    return state.value.has_value();
  }

  // Waits for it.
  T Get() const {
    State& state = *state_;
    MutexLock lock(state.mutex);
    while (!state.value.has_value()) state.changed.Wait(state.mutex);
    return *state.value;
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    std::optional<T> value EVENPACK_GUARDED_BY(mutex);
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_AWAITED_H_
