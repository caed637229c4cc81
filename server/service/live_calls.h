// The streaming calls of a server, so that a drain can end them.
#ifndef EVENPACK_SERVER_SERVICE_LIVE_CALLS_H_
#define EVENPACK_SERVER_SERVICE_LIVE_CALLS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "server/runtime/mutex.h"

namespace evenpack {

class DrainableCall {
 public:
  virtual ~DrainableCall() = default;
  // Ends the call as soon as what it has begun is done: UNAVAILABLE.
  virtual void Drain() = 0;
  // Ends the call where those who may make it are others now.
  virtual void RolesChanged() {}
};

// Thread-safe.
class LiveCalls {
 public:
  // `limit`: calls at a time.
  explicit LiveCalls(size_t limit) : limit_(limit) {}

  // False where there are as many as may be. The call is drained at once where the
  // server drains. It stays until Remove.
  bool Add(const std::shared_ptr<DrainableCall>& call);
  void Remove(const std::shared_ptr<DrainableCall>& call);
  // Drains every call, now and from now on.
  void Drain();
  // Tells every call that there is.
  void RolesChanged();
  // Returns when there is no call any more, or after that time.
  void WaitUntilNone(std::chrono::nanoseconds time);

  size_t limit() const { return limit_; }
  size_t size() const;
  // How many there have been.
  uint64_t opened() const;

 private:
  const size_t limit_;
  mutable Mutex mutex_;
  CondVar removed_;
  std::set<std::shared_ptr<DrainableCall>> calls_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t opened_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool draining_ EVENPACK_GUARDED_BY(mutex_) = false;
};

// By kind.
struct StreamCalls {
  LiveCalls ingest;
  LiveCalls steps;
  LiveCalls groups;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_LIVE_CALLS_H_
