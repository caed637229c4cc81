// A job in the steady state: what one step costs, decided and applied.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "server/core/cost/cost_spec.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "tests/testing/given_lengths.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

// A wlb job with two queues that is fed the given lengths over and over.
class FedJob {
 public:
  explicit FedJob(uint32_t micro_batches) {
    JobSpec spec;
    spec.streams = {{.name = "a"}};
    spec.micro_batches = micro_batches;
    spec.window = kWindow;
    spec.max_length = kWindow + kWindow / 2;
    spec.policy.queue_thresholds = {49152, 98304};
    spec.workload = ResolveWorkload(QuadraticCost{.crossover_tokens = 47000},
                                    spec.max_length, micro_batches)
                        .value();
    Do(CreateJob{spec});
  }

  // One global batch more in the buffer.
  void Feed() {
    Ingest command;
    command.stream = "a";
    command.first_sequence = state_.streams[0].next_sequence;
    uint64_t tokens = 0;
    while (tokens < GlobalBatchTokens(state_.spec)) {
      command.lengths.push_back(
          testing::GivenLengths()[next_++ % testing::GivenLengths().size()]);
      tokens += command.lengths.back();
    }
    Do(command);
  }

  // Seconds of Decide and of Apply.
  std::pair<double, double> Step() {
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<Event> event = Decide(state_, FormStep{});
    const double decide = Seconds(start);
    if (!event.ok()) Fail(event.status());
    const auto decided = std::chrono::steady_clock::now();
    Apply(*std::move(event), state_);
    return {decide, Seconds(decided)};
  }

  // Lets go of what was decided; counts documents emitted so far by the merge.
  uint64_t Acknowledge() {
    Do(evenpack::Acknowledge{0, state_.position.next_step - 1});
    return state_.position.documents_admitted;
  }

 private:
  void Do(const Command& command) {
    absl::StatusOr<Event> event = Decide(state_, command);
    if (!event.ok()) Fail(event.status());
    Apply(*std::move(event), state_);
  }

  static void Fail(const absl::Status& status) {
    std::cerr << status << "\n";
    std::exit(1);
  }

  JobState state_;
  size_t next_ = 0;
};

void RunSteps(benchmark::State& state, bool with_apply) {
  FedJob job(static_cast<uint32_t>(state.range(0)));
  for (int i = 0; i < 20; ++i) {
    job.Feed();
    job.Step();
    job.Acknowledge();
  }
  const uint64_t before = job.Acknowledge();
  for (auto _ : state) {
    job.Feed();
    const auto [decide, apply] = job.Step();
    state.SetIterationTime(with_apply ? decide + apply : decide);
    job.Acknowledge();
  }
  state.SetItemsProcessed(static_cast<int64_t>(job.Acknowledge() - before));
}

void BM_DecideStep(benchmark::State& state) { RunSteps(state, false); }
BENCHMARK(BM_DecideStep)->RangeMultiplier(4)->Range(4, 4096)->UseManualTime();

void BM_DecideAndApplyStep(benchmark::State& state) { RunSteps(state, true); }
BENCHMARK(BM_DecideAndApplyStep)->RangeMultiplier(4)->Range(4, 4096)->UseManualTime();

}  // namespace
}  // namespace evenpack
