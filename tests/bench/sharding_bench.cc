// Planning, expanding and choosing the sharding of one micro-batch of 131,072 tokens.
// Arguments: context_parallel, documents.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/named_models.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/hybrid.h"
#include "server/core/sharding/per_document.h"
#include "server/core/sharding/per_sequence.h"
#include "server/core/sharding/shard_plan.h"
#include "server/core/sharding/validate_plan.h"

namespace evenpack {
namespace {

constexpr uint32_t kTokens = 131072;
// About that of 7B on 64 GPUs with TP = 8, in proportion to the forward pass.
constexpr HybridRule kHybridRule = {.token_ps = 40'000, .cut_token_ps = 10'000};

// `documents` random lengths that add up to kTokens: the gaps of sorted cut points.
std::vector<uint32_t> MicroBatchLengths(size_t documents, size_t seed = 0) {
  std::mt19937_64 random(documents + (seed << 32));
  std::vector<uint32_t> cuts(kTokens - 1);
  for (uint32_t i = 0; i < cuts.size(); ++i) cuts[i] = i + 1;
  for (size_t i = 0; i + 1 < documents; ++i) {
    std::swap(cuts[i], cuts[i + random() % (cuts.size() - i)]);
  }
  cuts.resize(documents - 1);
  cuts.push_back(kTokens);
  std::sort(cuts.begin(), cuts.end());
  uint32_t start = 0;
  for (uint32_t& cut : cuts) {
    const uint32_t end = cut;
    cut = end - start;
    start = end;
  }
  return cuts;
}

KernelLatencyTable TileModelOf7B() {
  return *KernelLatencyTable::FromTileModel(*NamedModel("7B"), *NamedHardware("H200"),
                                            /*tensor_parallel=*/8);
}

uint32_t ContextParallel(const benchmark::State& state) {
  return static_cast<uint32_t>(state.range(0));
}

size_t Documents(const benchmark::State& state) {
  return static_cast<size_t>(state.range(1));
}

void ShapesOfGroupAndDocuments(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"cp", "documents"})->Unit(benchmark::kMicrosecond);
  for (const int64_t documents : {10, 100, 1000, 10000}) bench->Args({16, documents});
  for (const int64_t cp : {1, 2, 4, 8, 32, 64}) bench->Args({cp, 1000});
}

void PlanPerDocumentOf(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  for (auto _ : state) {
    benchmark::DoNotOptimize(PlanPerDocument(lengths, ContextParallel(state), 0));
  }
}
BENCHMARK(PlanPerDocumentOf)->Apply(ShapesOfGroupAndDocuments);

void PlanPerSequenceOf(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  for (auto _ : state) {
    benchmark::DoNotOptimize(PlanPerSequence(lengths, ContextParallel(state), 0));
  }
}
BENCHMARK(PlanPerSequenceOf)->Apply(ShapesOfGroupAndDocuments);

void ExpandEveryRank(benchmark::State& state, const ShardPlan& plan) {
  RankSlices slices;
  size_t expanded = 0;
  for (auto _ : state) {
    for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
      ExpandRankInto(plan, rank, slices);
      benchmark::DoNotOptimize(slices.end.data());
      benchmark::ClobberMemory();
      expanded += slices.size();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(expanded));
}

void ExpandPerDocument(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  ExpandEveryRank(state, *PlanPerDocument(lengths, ContextParallel(state), 0));
}
BENCHMARK(ExpandPerDocument)->Apply(ShapesOfGroupAndDocuments);

void ExpandPerDocumentPadded(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  ExpandEveryRank(state, *PlanPerDocument(lengths, ContextParallel(state), 1));
}
BENCHMARK(ExpandPerDocumentPadded)->Apply(ShapesOfGroupAndDocuments);

void ExpandPerSequence(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  ExpandEveryRank(state, *PlanPerSequence(lengths, ContextParallel(state), 0));
}
BENCHMARK(ExpandPerSequence)->Apply(ShapesOfGroupAndDocuments);

void ChooseShardingOf(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  const KernelLatencyTable table = TileModelOf7B();
  for (auto _ : state) {
    benchmark::DoNotOptimize(ChooseSharding(lengths, ContextParallel(state), 0, table));
  }
}
BENCHMARK(ChooseShardingOf)->Apply(ShapesOfGroupAndDocuments);

void ChooseHybridOf(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  const KernelLatencyTable table = TileModelOf7B();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        ChooseHybrid(lengths, ContextParallel(state), 0, table, kHybridRule));
  }
}
BENCHMARK(ChooseHybridOf)->Apply(ShapesOfGroupAndDocuments);

// Lengths for each of `micro_batches`, which hold `documents` together.
std::vector<std::vector<uint32_t>> StepLengths(size_t micro_batches, size_t documents) {
  // As many different ones as it takes to have nothing learnt by heart.
  constexpr size_t kDifferent = 64;
  std::vector<std::vector<uint32_t>> step;
  for (size_t i = 0; i < micro_batches; ++i) {
    const size_t before = i * documents / micro_batches;
    const size_t count = (i + 1) * documents / micro_batches - before;
    step.push_back(i < kDifferent ? MicroBatchLengths(count, i) : step[i - kDifferent]);
  }
  return step;
}

// All micro-batches of a step at CP = 16.
template <typename Plan>
void PlanStep(benchmark::State& state, size_t micro_batches, size_t documents,
              Plan plan) {
  const auto step = StepLengths(micro_batches, documents);
  for (auto _ : state) {
    for (const std::vector<uint32_t>& lengths : step) {
      benchmark::DoNotOptimize(plan(lengths));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(documents));
  state.counters["documents"] = static_cast<double>(documents);
}

void MicroBatches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("N")->RangeMultiplier(4)->Range(4, 4096);
}

// At N = 64.
void DocumentsOfAStep(benchmark::internal::Benchmark* bench) {
  bench->ArgName("documents")->RangeMultiplier(10)->Range(100, 1'000'000);
}

template <typename Plan>
void PlanStepOfMicroBatches(benchmark::State& state, Plan plan) {
  const auto micro_batches = static_cast<size_t>(state.range(0));
  // As the given lengths have it.
  PlanStep(state, micro_batches, 33 * micro_batches, plan);
}

template <typename Plan>
void PlanStepOfDocuments(benchmark::State& state, Plan plan) {
  PlanStep(state, 64, static_cast<size_t>(state.range(0)), plan);
}

auto PerDocument() {
  return [](const auto& lengths) { return PlanPerDocument(lengths, 16, 0); };
}

auto Adaptive() {
  return [table = TileModelOf7B()](const auto& lengths) {
    return ChooseSharding(lengths, 16, 0, table);
  };
}

auto Hybrid() {
  return [table = TileModelOf7B()](const auto& lengths) {
    return ChooseHybrid(lengths, 16, 0, table, kHybridRule);
  };
}

void PlanStepPerDocument(benchmark::State& state) {
  PlanStepOfMicroBatches(state, PerDocument());
}
BENCHMARK(PlanStepPerDocument)->Apply(MicroBatches);

void PlanStepPerDocumentByDocuments(benchmark::State& state) {
  PlanStepOfDocuments(state, PerDocument());
}
BENCHMARK(PlanStepPerDocumentByDocuments)->Apply(DocumentsOfAStep);

void PlanStepAdaptive(benchmark::State& state) {
  PlanStepOfMicroBatches(state, Adaptive());
}
BENCHMARK(PlanStepAdaptive)->Apply(MicroBatches);

void PlanStepAdaptiveByDocuments(benchmark::State& state) {
  PlanStepOfDocuments(state, Adaptive());
}
BENCHMARK(PlanStepAdaptiveByDocuments)->Apply(DocumentsOfAStep);

void PlanStepHybrid(benchmark::State& state) {
  PlanStepOfMicroBatches(state, Hybrid());
}
BENCHMARK(PlanStepHybrid)->Apply(MicroBatches);

void PlanStepHybridByDocuments(benchmark::State& state) {
  PlanStepOfDocuments(state, Hybrid());
}
BENCHMARK(PlanStepHybridByDocuments)->Apply(DocumentsOfAStep);

void ValidatePerDocument(benchmark::State& state) {
  const std::vector<uint32_t> lengths = MicroBatchLengths(Documents(state));
  const ShardPlan plan = *PlanPerDocument(lengths, ContextParallel(state), 0);
  for (auto _ : state) benchmark::DoNotOptimize(Validate(plan));
}
BENCHMARK(ValidatePerDocument)->Apply(ShapesOfGroupAndDocuments);

}  // namespace
}  // namespace evenpack
