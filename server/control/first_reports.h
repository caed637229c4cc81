// Which micro-batches of an epoch's last steps were reported before.
#ifndef EVENPACK_SERVER_CONTROL_FIRST_REPORTS_H_
#define EVENPACK_SERVER_CONTROL_FIRST_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace evenpack {

// Not thread-safe.
class FirstReports {
 public:
  // At most so many steps are kept, the last ones of which one was reported, and fewer
  // where their micro-batches would be more than so many together: 128 KiB of them, and
  // about as much of steps.
  static constexpr size_t kMaxSteps = 1024;
  static constexpr uint64_t kMaxMicroBatches = uint64_t{1} << 20;

  // Whether this micro-batch, one of `micro_batches` that each step has, is reported
  // for the first time. False too where its step lies before those that are kept.
  bool Add(uint64_t step, uint32_t micro_batch, size_t micro_batches);
  // A new epoch, whose steps may have the same numbers.
  void Clear();

 private:
  // By step, then micro-batch.
  std::map<uint64_t, std::vector<bool>> reported_;
  // Steps before it are not kept any more.
  uint64_t first_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_FIRST_REPORTS_H_
