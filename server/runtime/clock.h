// Time, as something that a test can hold still.
#ifndef EVENPACK_SERVER_RUNTIME_CLOCK_H_
#define EVENPACK_SERVER_RUNTIME_CLOCK_H_

#include <chrono>

namespace evenpack {

// Thread-safe.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  // Never falls.
  virtual TimePoint Now() const = 0;

  // std::chrono::steady_clock; lives as long as the process.
  static const Clock& Steady();
};

inline double SecondsBetween(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_CLOCK_H_
