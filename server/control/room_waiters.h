// Producers that stopped reading because their stream is full.
#ifndef EVENPACK_SERVER_CONTROL_ROOM_WAITERS_H_
#define EVENPACK_SERVER_CONTROL_ROOM_WAITERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace evenpack {

// Not thread-safe: the job's lock guards it.
class RoomWaiters {
 public:
  using Callback = std::function<void()>;

  // `callback` runs once the stream has room. The number is for Remove.
  uint64_t Add(size_t stream, Callback callback) {
    waiters_.emplace(next_, Waiter{stream, std::move(callback)});
    return next_++;
  }
  // Does nothing where the callback was taken before.
  void Remove(uint64_t number) { waiters_.erase(number); }
  // Those of streams that aren't full any more; to be called under no lock.
  std::vector<Callback> TakeReady(absl::FunctionRef<bool(size_t stream)> is_full) {
    std::vector<Callback> ready;
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      if (is_full(waiter->second.stream)) {
        ++waiter;
        continue;
      }
      ready.push_back(std::move(waiter->second.callback));
      waiter = waiters_.erase(waiter);
    }
    return ready;
  }

 private:
  struct Waiter {
    size_t stream = 0;
    Callback callback;
  };

  uint64_t next_ = 0;
  std::map<uint64_t, Waiter> waiters_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_ROOM_WAITERS_H_
