// An engine and a group whose work takes the time that a test says, on its clock.
#ifndef EVENPACK_TESTS_GPU_WORKER_PROFILE_TIMED_WORK_H_
#define EVENPACK_TESTS_GPU_WORKER_PROFILE_TIMED_WORK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/local_group.h"
#include "tests/testing/fake_clock.h"

namespace evenpack::worker::testing {

using evenpack::testing::FakeClock;

// Forward takes 100 ns, and 1 ns for each query and key of each task's product;
// backward three times that. All times `factor`. Without a task nothing is run. A test
// may say what else a call of so many slices takes, of which each alone takes so long.
class TimedEngine final : public AttentionEngine {
 public:
  using CallTime = std::function<int64_t(const std::vector<int64_t>& slices)>;

  explicit TimedEngine(FakeClock& clock, int64_t factor = 1)
      : clock_(clock), factor_(factor) {}
  TimedEngine(FakeClock& clock, CallTime call_time)
      : clock_(clock), factor_(1), call_time_(std::move(call_time)) {}

  absl::Status Forward(const AttentionCall& call, const ForwardResult&) override {
    clock_.Advance(std::chrono::nanoseconds(TimeOf(call)));
    ++calls_;
    return status_;
  }
  absl::Status Backward(const AttentionCall& call, const BackwardInput&,
                        const BackwardResult&) override {
    clock_.Advance(std::chrono::nanoseconds(3 * TimeOf(call)));
    ++calls_;
    return status_;
  }
  int calls() const { return calls_; }
  void FailWith(const absl::Status& status) { status_ = status; }

  // What a call takes beside its slices.
  static constexpr int64_t kLaunchNs = 100;
  // Of one slice, without the launch.
  static int64_t SliceNs(int64_t q_len, int64_t kv_len) { return q_len * kv_len; }

 private:
  int64_t TimeOf(const AttentionCall& call) const {
    if (call.tasks.empty()) return 0;
    std::vector<int64_t> slices;
    for (const AttentionTask& task : call.tasks) {
      slices.push_back(SliceNs(task.end - task.begin, task.end));
    }
    if (call_time_) return call_time_(slices);
    return factor_ * std::accumulate(slices.begin(), slices.end(), kLaunchNs);
  }

  FakeClock& clock_;
  const int64_t factor_;
  const CallTime call_time_;
  int calls_ = 0;
  absl::Status status_;
};

// A rank's end of another group. What it receives takes 1 ns a byte, times `factor`.
class TimedGroup final : public Communicator {
 public:
  TimedGroup(Communicator& group, FakeClock& clock, int64_t factor)
      : group_(group), clock_(clock), factor_(factor) {}

  uint32_t rank() const override { return group_.rank(); }
  uint32_t size() const override { return group_.size(); }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    uint64_t rows = 0;
    for (const auto& ranges : *exchange.receive_rows) rows += RowsIn(ranges);
    const uint64_t bytes = rows * exchange.row_bytes * exchange.tensors.size();
    clock_.Advance(std::chrono::nanoseconds(factor_ * static_cast<int64_t>(bytes)));
    return group_.Start(exchange);
  }
  void Abort(const absl::Status& reason) override { group_.Abort(reason); }

 private:
  Communicator& group_;
  FakeClock& clock_;
  const int64_t factor_;
};

// Runs one function on each rank of a group of threads, each with a clock of its own.
inline void OnRanks(uint32_t ranks,
                    const std::function<void(Communicator&, FakeClock&)>& run) {
  LocalGroup group(ranks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&group, &run, rank] {
      FakeClock clock;
      run(group.OfRank(rank), clock);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace evenpack::worker::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_PROFILE_TIMED_WORK_H_
