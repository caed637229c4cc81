// When a server accepts connections, while it takes others down.
#ifndef EVENPACK_SERVER_APP_ACCEPT_GATE_H_
#define EVENPACK_SERVER_APP_ACCEPT_GATE_H_

#include <chrono>
#include <cstdint>
#include <limits>

#include "server/runtime/clock.h"

namespace evenpack {

struct AcceptGateOptions {
  // Calls and connections of peers that have left, which are not taken down yet. Each
  // holds some 25 KB.
  int64_t most_held = 1024;
  // Where there are more and none is taken down for so long, it is something else that
  // they wait for, such as a database: nobody else shall.
  std::chrono::milliseconds patience{1000};
};

// Not thread-safe.
class AcceptGate {
 public:
  explicit AcceptGate(const AcceptGateOptions& options) : options_(options) {}

  // Whether some may be accepted now.
  bool IsOpen(Clock::TimePoint now, int64_t held);

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  const AcceptGateOptions options_;
  // The fewest since it was shut, and since when.
  int64_t fewest_ = kNone;
  Clock::TimePoint since_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_ACCEPT_GATE_H_
