// When a subscriber's credit came to reach a step.
#ifndef EVENPACK_SERVER_SESSIONS_CREDIT_TIMES_H_
#define EVENPACK_SERVER_SESSIONS_CREDIT_TIMES_H_

#include <cstdint>
#include <deque>

#include "server/runtime/clock.h"

namespace evenpack {

// Not thread-safe. Keeps at most as many times as there are credits.
class CreditTimes {
 public:
  // Steps below `end` may be sent now.
  void Raise(uint64_t end, Clock::TimePoint now);
  // Since when this step might be; where nobody said so, always. Earlier ones are not
  // asked for any more.
  Clock::TimePoint Take(uint64_t step);

 private:
  struct Raised {
    uint64_t end = 0;
    Clock::TimePoint since;
  };
  // Both rise.
  std::deque<Raised> raised_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_CREDIT_TIMES_H_
