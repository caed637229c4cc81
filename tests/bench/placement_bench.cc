// Placement of a step's micro-batches, over steps that wlb packs from real lengths and
// over random ones: time a step, and what it gains over the order of the indices.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "server/core/cost/cost_spec.h"
#include "server/core/packing/wlb.h"
#include "server/core/packing/work_list.h"
#include "server/core/pipeline/placement.h"
#include "tests/testing/given_lengths.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint32_t kMaxLength = 196608;
constexpr size_t kSteps = 32;

using Steps = std::vector<std::vector<PassTime>>;

// A backward pass of 2.2 forward ones, the loss and sends in proportion to tokens.
PassTime TimeOf(const MicroBatch& micro_batch) {
  const auto tokens = static_cast<int64_t>(micro_batch.tokens);
  return {.forward_ns = micro_batch.workload_ns,
          .backward_ns = micro_batch.workload_ns * 11 / 5,
          .head_forward_ns = tokens * 30,
          .head_backward_ns = tokens * 60,
          .send_ns = tokens};
}

// Without outlier queues, so that steps are as uneven as packing alone leaves them.
Steps PackedSteps(size_t micro_batches) {
  const WorkloadTable workload =
      ResolveWorkload(QuadraticCost{.crossover_tokens = 47000}, kMaxLength, 4096)
          .value();
  const std::vector<uint32_t>& lengths = testing::GivenLengths();
  size_t next = 0;
  Steps steps;
  for (size_t step = 0; step < kSteps; ++step) {
    std::vector<Document> documents;
    for (uint64_t tokens = 0; tokens < micro_batches * kWindow; ++next) {
      Document document;
      document.sequence = next;
      document.length = lengths[next % lengths.size()];
      if (document.length > kWindow) continue;
      document.document_length = document.length;
      tokens += document.length;
      documents.push_back(document);
    }
    WorkList work_list = PointTo(documents);
    SortLongestFirst(work_list);
    const Packing packing =
        PackWlb(work_list, micro_batches, {.tokens = kMaxLength}, workload);
    steps.emplace_back();
    for (const MicroBatch& micro_batch : packing.micro_batches) {
      steps.back().push_back(TimeOf(micro_batch));
    }
  }
  return steps;
}

// Forward passes of 1 to 3 ms, one in eight twice as long; backward ones of about twice
// that.
Steps RandomSteps(size_t micro_batches) {
  std::mt19937_64 random(7);
  Steps steps(kSteps);
  for (std::vector<PassTime>& step : steps) {
    for (size_t i = 0; i < micro_batches; ++i) {
      auto forward_ns = static_cast<int64_t>(1'000'000 + random() % 2'000'000);
      if (random() % 8 == 0) forward_ns *= 2;
      const auto backward_ns =
          forward_ns * static_cast<int64_t>(19 + random() % 3) / 10;
      step.push_back({.forward_ns = forward_ns,
                      .backward_ns = backward_ns,
                      .head_forward_ns = 50'000,
                      .head_backward_ns = 100'000,
                      .send_ns = 20'000});
    }
  }
  return steps;
}

void Run(benchmark::State& state, Steps (*steps_of)(size_t), SyncDomain sync_domain) {
  const auto stages = static_cast<uint32_t>(state.range(0));
  const auto chunks = static_cast<uint32_t>(state.range(1));
  const auto micro_batches = static_cast<uint32_t>(state.range(2));
  const auto data_parallel = static_cast<uint32_t>(state.range(3));
  const Steps steps = steps_of(size_t{micro_batches} * data_parallel);
  Placer placer({stages, chunks, micro_batches, stages}, data_parallel, sync_domain);
  const uint64_t operations = PlacementBudget(steps.front().size());
  double given_ns = 0;
  double placed_ns = 0;
  for (const std::vector<PassTime>& step : steps) {
    const Placement placement = placer.Place(step, operations);
    given_ns += static_cast<double>(placement.given_ns);
    placed_ns += static_cast<double>(placement.placed_ns);
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(placer.Place(steps[next++ % kSteps], operations));
  }
  state.counters["faster"] = given_ns / placed_ns;
}

void Shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"PP", "V", "M", "DP"})
      ->Args({4, 1, 4, 1})
      ->Args({4, 1, 4, 2})
      ->Args({4, 2, 4, 1})
      ->Args({4, 1, 8, 4})
      ->Args({8, 1, 32, 2})
      ->Args({16, 1, 16, 4})
      ->Args({16, 2, 16, 4})
      ->Args({16, 1, 16, 48})
      ->Unit(benchmark::kMicrosecond);
}

void BM_PlacePackedAtStep(benchmark::State& state) {
  Run(state, PackedSteps, SyncDomain::kStep);
}
BENCHMARK(BM_PlacePackedAtStep)->Apply(Shapes);

void BM_PlacePackedAtMicroBatch(benchmark::State& state) {
  Run(state, PackedSteps, SyncDomain::kMicroBatch);
}
BENCHMARK(BM_PlacePackedAtMicroBatch)->Apply(Shapes);

void BM_PlaceRandomAtStep(benchmark::State& state) {
  Run(state, RandomSteps, SyncDomain::kStep);
}
BENCHMARK(BM_PlaceRandomAtStep)->Apply(Shapes);

void BM_PlaceRandomAtMicroBatch(benchmark::State& state) {
  Run(state, RandomSteps, SyncDomain::kMicroBatch);
}
BENCHMARK(BM_PlaceRandomAtMicroBatch)->Apply(Shapes);

// What a job pays once.
void BM_MakePlacer(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Placer({16, 1, 16, 16}, 4, SyncDomain::kStep));
  }
}
BENCHMARK(BM_MakePlacer)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace evenpack
