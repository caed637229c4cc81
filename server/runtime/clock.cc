#include "server/runtime/clock.h"

namespace evenpack {
namespace {

class SteadyClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& Clock::Steady() {
  static const SteadyClock kClock;
  return kClock;
}

}  // namespace evenpack
