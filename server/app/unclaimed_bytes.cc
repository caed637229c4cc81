#include "server/app/unclaimed_bytes.h"

#include <algorithm>

namespace evenpack {

bool UnclaimedBytes::AreTooMany(uint64_t received, const CallCounts& calls,
                                Clock::TimePoint now,
                                const UnclaimedBytesOptions& options) {
  if (const uint64_t arrivals = calls.arrivals; arrivals != arrivals_) {
    arrivals_ = arrivals;
    received_ = received;
    since_ = now;
  }
  const auto open = static_cast<uint64_t>(std::max<int64_t>(calls.open, 0));
  const auto seconds = static_cast<uint64_t>(SecondsBetween(since_, now));
  const uint64_t most =
      options.at_once + open * options.each_call + seconds * options.each_second;
  return received > received_ && received - received_ > most;
}

}  // namespace evenpack
