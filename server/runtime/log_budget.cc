#include "server/runtime/log_budget.h"

#include <utility>

namespace evenpack {

LogBudget::LogBudget(const Clock& clock, const LogBudgetOptions& options)
    : clock_(clock), options_(options) {}

std::optional<uint64_t> LogBudget::Take(const std::string& place) {
  const Clock::TimePoint now = clock_.Now();
  MutexLock lock(mutex_);
  Spent& spent = spent_.try_emplace(place, Spent{now}).first->second;
  if (now - spent.since >= options_.in) {
    spent.since = now;
    spent.lines = 0;
  }
  if (spent.lines >= options_.lines) {
    ++spent.left_out;
    return std::nullopt;
  }
  ++spent.lines;
  return std::exchange(spent.left_out, 0);
}

}  // namespace evenpack
