#include "server/sessions/credit_times.h"

namespace evenpack {

void CreditTimes::Raise(uint64_t end, Clock::TimePoint now) {
  if (raised_.empty() || end > raised_.back().end) raised_.push_back({end, now});
}

Clock::TimePoint CreditTimes::Take(uint64_t step) {
  while (!raised_.empty() && raised_.front().end <= step) raised_.pop_front();
  return raised_.empty() ? Clock::TimePoint() : raised_.front().since;
}

}  // namespace evenpack
