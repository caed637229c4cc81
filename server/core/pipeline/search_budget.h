// What a search may still do, counted in operations and not in time, so that it finds
// the same on every machine.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_SEARCH_BUDGET_H_
#define EVENPACK_SERVER_CORE_PIPELINE_SEARCH_BUDGET_H_

#include <cstdint>

namespace evenpack {

// Not thread-safe.
class SearchBudget {
 public:
  explicit SearchBudget(uint64_t operations) : left_(operations) {}

  // Takes `operations`; false, and from then on always, where fewer are left.
  bool Spend(uint64_t operations) {
    if (operations > left_) exhausted_ = true;
    if (exhausted_) return false;
    left_ -= operations;
    return true;
  }

  bool exhausted() const { return exhausted_; }

 private:
  uint64_t left_;
  bool exhausted_ = false;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_SEARCH_BUDGET_H_
