// How much a connection may send of which no call comes, and no message.
//
// gRPC 1.51 has no bound for a block of headers: a peer that never ends one has the
// server keep all of it, and read all of it again with each frame, so that after some
// tens of megabytes one frame keeps a thread for seconds, and what other peers' calls
// wait for (docs/adr/0061). It looks at a message's size when it has the whole message,
// so that one of any size, or thousands that never end, are kept as well
// (docs/adr/0066). Frames that say nothing are read as fast as they come, too.
#ifndef EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_
#define EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_

#include <atomic>
#include <cstdint>

#include "server/app/connection_bytes.h"
#include "server/runtime/clock.h"

namespace evenpack {

// What a connection's bytes came to. Thread-safe.
struct CallCounts {
  // Calls that go on; and those of them that are of gRPC's own services.
  std::atomic<int64_t> open = 0;
  std::atomic<int64_t> open_of_grpc = 0;
  // Bytes of calls that began and of messages that came whole: at least what they took
  // of the connection.
  std::atomic<uint64_t> claimed = 0;
};

struct UnclaimedBytesOptions {
  // At any time, and more for each call that goes on, which may be in the middle of a
  // message, and for one that has yet to come.
  uint64_t at_once = 8 << 20;
  uint64_t each_call = 16 << 20;
  // Of all connections.
  uint64_t together = 512 << 20;
  // That are forgotten each second; and where calls or messages come, some of which are
  // given up half-way.
  uint64_t each_second = 1024;
  uint64_t each_lively_second = 256 << 10;
};

// Of one connection. Not thread-safe.
class UnclaimedBytes {
 public:
  explicit UnclaimedBytes(Clock::TimePoint now) : looked_(now) {}

  // How many there are. `claimed` is of a moment no later than that of `bytes`: what is
  // claimed before it is counted would be claimed for nothing.
  uint64_t Look(uint64_t claimed, const ConnectionBytes& bytes, Clock::TimePoint now,
                const UnclaimedBytesOptions& options);
  // As at the last look; and what the connection had received then.
  uint64_t count() const { return count_; }
  uint64_t received() const { return bytes_.received; }
  // Whether that is more than a connection may have.
  bool AreTooMany(int64_t open_calls, const UnclaimedBytesOptions& options) const;

 private:
  Clock::TimePoint looked_;
  ConnectionBytes bytes_;
  uint64_t claimed_ = 0;
  uint64_t count_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_UNCLAIMED_BYTES_H_
