#include "server/app/accept_gate.h"

namespace evenpack {

bool AcceptGate::IsOpen(Clock::TimePoint now, int64_t held) {
  if (held <= options_.most_held) {
    fewest_ = kNone;
    return true;
  }
  if (held < fewest_) {
    fewest_ = held;
    since_ = now;
    return false;
  }
  if (now - since_ < options_.patience) return false;
  // What is accepted now may add to them.
  fewest_ = kNone;
  return true;
}

}  // namespace evenpack
