// Who cancels calls faster than anybody has a use for, and is to be cut off.
//
// gRPC 1.51 makes a call of each request that it reads and forgets none that is reset
// at once (CVE-2023-44487): one connection alone would bring up gigabytes of them in
// seconds, and all other calls would wait behind (docs/adr/0061).
#ifndef EVENPACK_SERVER_APP_FLOOD_GUARD_H_
#define EVENPACK_SERVER_APP_FLOOD_GUARD_H_

#include <grpcpp/support/server_interceptor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack {

struct FloodGuardOptions {
  // Calls that a connection may cancel at once, and how many more each second.
  double at_once = 2000;
  double each_second = 200;
};

// Thread-safe.
class FloodGuard {
 public:
  // `cut` ends the connection of a peer, as gRPC names it. `clock` outlives the guard,
  // and the guard every call of the servers that it watches.
  FloodGuard(const Clock& clock, std::function<void(const std::string& peer)> cut,
             const FloodGuardOptions& options = {});

  // For the servers that will be built with it, whose calls it watches.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptors();

  // A call of the peer's ended before it was answered.
  void CallCancelled(const std::string& peer);

  // Peers that are remembered, which are those that cancelled of late.
  size_t peers();

 private:
  struct Bucket {
    Clock::TimePoint at;
    double left = 0;
  };

  void Refill(Bucket& bucket, Clock::TimePoint now) const;
  void Forget(Clock::TimePoint now) EVENPACK_REQUIRES(mutex_);

  const Clock& clock_;
  const std::function<void(const std::string&)> cut_;
  const FloodGuardOptions options_;
  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ EVENPACK_GUARDED_BY(mutex_);
  // Peers are looked through when there are so many.
  size_t forget_at_ EVENPACK_GUARDED_BY(mutex_) = 1024;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_FLOOD_GUARD_H_
