// A job in the steady state: what one step costs, decided and applied.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/step_formation.h"
#include "tests/testing/given_lengths.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint32_t kMaxLength = kWindow + kWindow / 2;
constexpr size_t kMessageDocuments = 64;

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

// A job, wlb's with two queues, that is fed `lengths` over and over.
class FedJob {
 public:
  FedJob(uint32_t micro_batches, std::vector<uint32_t> lengths,
         PolicyKind policy = PolicyKind::kWlb, size_t streams = 1)
      : lengths_(std::move(lengths)) {
    JobSpec spec;
    spec.policy.kind = policy;
    for (size_t i = 0; i < streams; ++i) {
      spec.streams.push_back({.name = absl::StrCat("s", i)});
    }
    spec.micro_batches = micro_batches;
    spec.window = kWindow;
    spec.max_length = kMaxLength;
    if (policy == PolicyKind::kWlb) spec.policy.queue_thresholds = {49152, 98304};
    spec.workload = ResolveWorkload(QuadraticCost{.crossover_tokens = 47000},
                                    spec.max_length, micro_batches)
                        .value();
    Do(CreateJob{spec});
  }

  void FeedDocuments(size_t documents) {
    FeedUntil([documents](size_t fed, uint64_t) { return fed == documents; });
  }

  // One global batch more in the buffer.
  void Feed() {
    const uint64_t batch = GlobalBatchTokens(state_.spec);
    FeedUntil([batch](size_t, uint64_t tokens) { return tokens >= batch; });
  }

  // All that can be: what waits makes none by itself before, as after the last time.
  void FormSteps() {
    auto next = NextStep(state_, &known_);
    for (; next.ok() && next->has_value(); next = NextStep(state_, &known_)) {
      known_ = {};
      Apply(Event(**std::move(next)), state_);
      Acknowledge();
    }
    if (!next.ok()) Fail(next.status());
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
  // `enough`: of so many documents and tokens.
  template <typename Enough>
  void FeedUntil(Enough enough) {
    const size_t stream = random_() % state_.streams.size();
    Ingest command;
    command.stream = state_.spec.streams[stream].name;
    command.first_sequence = state_.streams[stream].next_sequence;
    for (uint64_t tokens = 0; !enough(command.lengths.size(), tokens);) {
      command.lengths.push_back(lengths_[next_++ % lengths_.size()]);
      tokens += command.lengths.back();
    }
    Do(command);
  }

  void Do(const Command& command) {
    absl::StatusOr<Event> event = Decide(state_, command);
    if (!event.ok()) Fail(event.status());
    Apply(*std::move(event), state_);
  }

  static void Fail(const absl::Status& status) {
    std::cerr << status << "\n";
    std::exit(1);
  }

  const std::vector<uint32_t> lengths_;
  JobState state_;
  KnownOfWaiting known_ = {.make_no_step = true, .awaited = {}};
  std::mt19937_64 random_{1};
  size_t next_ = 0;
};

// `warm_up` steps are not measured: as many as it takes until the queues are full.
void RunSteps(benchmark::State& state, FedJob job, int warm_up, bool with_apply) {
  for (int i = 0; i < warm_up; ++i) {
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

constexpr int kWarmUp = 20;

FedJob FedGivenLengths(const benchmark::State& state) {
  return {static_cast<uint32_t>(state.range(0)), testing::GivenLengths()};
}

void MicroBatches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("N")->RangeMultiplier(4)->Range(4, 4096)->UseManualTime();
}

void BM_DecideStep(benchmark::State& state) {
  RunSteps(state, FedGivenLengths(state), kWarmUp, false);
}
BENCHMARK(BM_DecideStep)->Apply(MicroBatches);

void BM_DecideAndApplyStep(benchmark::State& state) {
  RunSteps(state, FedGivenLengths(state), kWarmUp, true);
}
BENCHMARK(BM_DecideAndApplyStep)->Apply(MicroBatches);

// Growth with the documents of a step at N = 64: the same tokens, cut finer.
void BM_DecideStepByDocuments(benchmark::State& state) {
  constexpr uint32_t kMicroBatches = 64;
  const std::vector<uint32_t>& given = testing::GivenLengths();
  std::vector<uint32_t> lengths(static_cast<size_t>(state.range(0)));
  uint64_t tokens = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = given[i % given.size()];
    tokens += lengths[i];
  }
  const double scale =
      double{kMicroBatches} * double{kWindow} / static_cast<double>(tokens);
  for (uint32_t& length : lengths) {
    length = std::min(static_cast<uint32_t>(length * scale) + 1, kMaxLength);
  }
  // Nothing is long enough to wait where documents are many.
  const int warm_up = lengths.size() > 10'000 ? 2 : kWarmUp;
  RunSteps(state, {kMicroBatches, std::move(lengths)}, warm_up, false);
}
BENCHMARK(BM_DecideStepByDocuments)
    ->ArgName("documents")
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->UseManualTime();

// A message of a few documents, and the steps that can be formed then, as a server
// does.
void BM_IngestMessage(benchmark::State& state, PolicyKind policy) {
  FedJob job(static_cast<uint32_t>(state.range(0)), testing::GivenLengths(), policy);
  for (int i = 0; i < kWarmUp; ++i) {
    job.Feed();
    job.FormSteps();
  }
  for (auto _ : state) {
    job.FeedDocuments(kMessageDocuments);
    job.FormSteps();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kMessageDocuments);
}
BENCHMARK_CAPTURE(BM_IngestMessage, wlb, PolicyKind::kWlb)
    ->ArgName("N")
    ->Arg(4)
    ->Arg(64);
BENCHMARK_CAPTURE(BM_IngestMessage, balanced, PolicyKind::kBalanced)
    ->ArgName("N")
    ->Arg(4)
    ->Arg(64);

// The same of so many streams, each message of one of them.
void BM_IngestOfStreams(benchmark::State& state) {
  FedJob job(256, testing::GivenLengths(), PolicyKind::kWlb,
             static_cast<size_t>(state.range(0)));
  for (int message = 0; message < 1000; ++message) {
    job.FeedDocuments(kMessageDocuments);
    job.FormSteps();
  }
  for (auto _ : state) {
    job.FeedDocuments(kMessageDocuments);
    job.FormSteps();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kMessageDocuments);
}
BENCHMARK(BM_IngestOfStreams)->ArgName("streams")->Arg(1)->Arg(64);

}  // namespace
}  // namespace evenpack
