#include "server/app/unclaimed_bytes.h"

#include <algorithm>

namespace evenpack {
namespace {

// Of what is sent to a peer, so much may come back that says how much more it takes: a
// frame of 13 bytes, perhaps in a TLS record of its own, for each message.
constexpr uint64_t kSentForEachByteBack = 32;

uint64_t More(uint64_t before, uint64_t now) { return now - std::min(before, now); }

}  // namespace

uint64_t UnclaimedBytes::Look(uint64_t claimed, const ConnectionBytes& bytes,
                              Clock::TimePoint now,
                              const UnclaimedBytesOptions& options) {
  const uint64_t newly = More(claimed_, claimed);
  const uint64_t rate = newly > 0 ? options.each_lively_second : options.each_second;
  const auto forgotten =
      static_cast<uint64_t>(static_cast<double>(rate) * SecondsBetween(looked_, now));
  count_ += More(bytes_.received, bytes.received);
  count_ -= std::min(
      count_, newly + forgotten + More(bytes_.sent, bytes.sent) / kSentForEachByteBack);
  looked_ = now;
  bytes_ = bytes;
  claimed_ = claimed;
  return count_;
}

bool UnclaimedBytes::AreTooMany(int64_t open_calls,
                                const UnclaimedBytesOptions& options) const {
  const auto open = static_cast<uint64_t>(std::max<int64_t>(open_calls, 0));
  // One more: a unary call comes once its message has come whole.
  return count_ > options.at_once + (open + 1) * options.each_call;
}

}  // namespace evenpack
