// How much a connection may send of which no call comes.
//
// gRPC 1.51 has no bound for a block of headers: a peer that never ends one has the
// server keep all of it, and read all of it again with each frame, so that after some
// tens of megabytes one frame keeps a thread for seconds, and what other peers' calls
// wait for (docs/adr/0061). Frames that say nothing are read as fast as they come, too.
#ifndef EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_
#define EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_

#include <atomic>
#include <cstdint>

#include "server/runtime/clock.h"

namespace evenpack {

// What a connection's bytes came to. Thread-safe.
struct CallCounts {
  // Calls that go on.
  std::atomic<int64_t> open = 0;
  // Calls that began, messages that came whole.
  std::atomic<uint64_t> arrivals = 0;
};

struct UnclaimedBytesOptions {
  // At any time, more for each call that goes on, which may be in the middle of a
  // message, and more each second.
  uint64_t at_once = 8 << 20;
  uint64_t each_call = 16 << 20;
  uint64_t each_second = 1024;
};

// Of one connection. Not thread-safe.
class UnclaimedBytes {
 public:
  explicit UnclaimedBytes(Clock::TimePoint now) : since_(now) {}

  // True where it has sent more than it may since a look that found an arrival.
  // `received`: all that it ever sent.
  bool AreTooMany(uint64_t received, const CallCounts& calls, Clock::TimePoint now,
                  const UnclaimedBytesOptions& options);

 private:
  Clock::TimePoint since_;
  uint64_t arrivals_ = 0;
  uint64_t received_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_
