// So many lines of each place in the code in a while: what a library logs of a hostile
// peer's every frame would else fill the disk.
#ifndef EVENPACK_SERVER_RUNTIME_LOG_BUDGET_H_
#define EVENPACK_SERVER_RUNTIME_LOG_BUDGET_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack {

struct LogBudgetOptions {
  uint64_t lines = 10;
  std::chrono::seconds in{60};
};

// Thread-safe.
class LogBudget {
 public:
  // `clock` outlives it.
  explicit LogBudget(const Clock& clock, const LogBudgetOptions& options = {});

  // Whether a line of this place may be written: then how many were not since the last
  // one that was.
  std::optional<uint64_t> Take(const std::string& place);

 private:
  struct Spent {
    Clock::TimePoint since;
    uint64_t lines = 0;
    uint64_t left_out = 0;
  };

  const Clock& clock_;
  const LogBudgetOptions options_;
  Mutex mutex_;
  // Places are those of a program's text, and so few.
  std::map<std::string, Spent> spent_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_LOG_BUDGET_H_
