#include "gpu_worker/executor/pass_timer.h"

#include <chrono>
#include <utility>
#include <vector>

namespace evenpack::worker {
namespace {

class ClockTimer final : public PassTimer {
 public:
  explicit ClockTimer(const Clock& clock) : clock_(clock) {}

  void End() override {}
  void BeginComputing() override { begun_ = clock_.Now(); }
  void EndComputing() override { times_.computed_ns += SinceBegun(); }
  void BeginWaiting() override { begun_ = clock_.Now(); }
  void EndWaiting() override { times_.waited_ns += SinceBegun(); }
  PassTimes Times() const override { return times_; }
  bool knows_at_end() const override { return true; }

 private:
  int64_t SinceBegun() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.Now() - begun_)
        .count();
  }

  const Clock& clock_;
  Clock::TimePoint begun_;
  PassTimes times_;
};

// A device does what it is asked without a pause but for its waits, which are what the
// host can't see.
class MarkTimer final : public PassTimer {
 public:
  MarkTimer(Device& device, absl::StatusOr<std::unique_ptr<DeviceMark>> begin)
      : device_(device), failed_(!begin.ok()) {
    if (!failed_) marks_.push_back(*std::move(begin));
  }

  void End() override { Mark(); }
  void BeginComputing() override {}
  void EndComputing() override {}
  void BeginWaiting() override { Mark(); }
  void EndWaiting() override { Mark(); }

  bool knows_at_end() const override { return false; }
  // Marks are of its begin, of the begin and the end of each wait, and of its end.
  PassTimes Times() const override {
    PassTimes times;
    if (failed_ || marks_.size() % 2 != 0) return times;
    for (size_t i = 1; i < marks_.size(); ++i) {
      const absl::StatusOr<int64_t> took = marks_[i]->Since(*marks_[i - 1]);
      if (!took.ok()) return {};
      (i % 2 == 0 ? times.waited_ns : times.computed_ns) += *took;
    }
    return times;
  }

 private:
  void Mark() {
    absl::StatusOr<std::unique_ptr<DeviceMark>> mark = device_.Mark();
    failed_ = failed_ || !mark.ok();
    if (!failed_) marks_.push_back(*std::move(mark));
  }

  Device& device_;
  std::vector<std::unique_ptr<DeviceMark>> marks_;
  bool failed_;
};

}  // namespace

std::unique_ptr<PassTimer> PassTimer::Begin(Device& device, const Clock& clock) {
  absl::StatusOr<std::unique_ptr<DeviceMark>> mark = device.Mark();
  if (mark.ok() && *mark == nullptr) return std::make_unique<ClockTimer>(clock);
  return std::make_unique<MarkTimer>(device, std::move(mark));
}

}  // namespace evenpack::worker
