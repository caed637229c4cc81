// The packing policies alone: documents in an array in, micro-batches out.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "server/core/cost/cost_spec.h"
#include "server/core/packing/fixed_greedy.h"
#include "server/core/packing/original.h"
#include "server/core/packing/wlb.h"
#include "server/core/packing/work_list.h"
#include "tests/testing/given_lengths.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint32_t kMaxLength = 196608;

std::vector<Document> Documents(size_t count) {
  const std::vector<uint32_t>& lengths = testing::GivenLengths();
  std::vector<Document> documents(count);
  for (size_t i = 0; i < count; ++i) {
    documents[i].sequence = i;
    documents[i].length = lengths[i % lengths.size()];
    documents[i].document_length = documents[i].length;
  }
  return documents;
}

// One global batch of N micro-batches: about 33 documents for each.
std::vector<Document> GlobalBatch(size_t micro_batches) {
  std::vector<Document> documents = Documents(60 * micro_batches);
  uint64_t tokens = 0;
  size_t count = 0;
  while (tokens < micro_batches * kWindow) tokens += documents[count++].length;
  documents.resize(count);
  return documents;
}

WorkList LongestFirst(const std::vector<Document>& documents) {
  WorkList work_list = PointTo(documents);
  SortLongestFirst(work_list);
  return work_list;
}

WorkloadTable Workload() {
  return ResolveWorkload(QuadraticCost{.crossover_tokens = 47000}, kMaxLength, 4096)
      .value();
}

void CountDocuments(benchmark::State& state, size_t documents) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(documents));
  state.counters["documents"] = static_cast<double>(documents);
}

void MicroBatches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("N")->RangeMultiplier(4)->Range(4, 4096);
}

void BM_Wlb(benchmark::State& state) {
  const auto micro_batches = static_cast<size_t>(state.range(0));
  const std::vector<Document> documents = GlobalBatch(micro_batches);
  const WorkloadTable workload = Workload();
  for (auto _ : state) {
    benchmark::DoNotOptimize(PackWlb(LongestFirst(documents), micro_batches,
                                     {.tokens = kMaxLength}, workload));
  }
  CountDocuments(state, documents.size());
}
BENCHMARK(BM_Wlb)->Apply(MicroBatches);

// Growth with the documents of a step at N = 64: the same tokens, cut finer.
void BM_WlbByDocuments(benchmark::State& state) {
  std::vector<Document> documents = Documents(static_cast<size_t>(state.range(0)));
  uint64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  const double scale = 64.0 * kWindow / static_cast<double>(tokens);
  for (Document& document : documents) {
    document.length = static_cast<uint32_t>(document.length * scale) + 1;
    document.length = std::min(document.length, kMaxLength);
  }
  const WorkloadTable workload = Workload();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        PackWlb(LongestFirst(documents), 64, {.tokens = kMaxLength}, workload));
  }
  CountDocuments(state, documents.size());
}
BENCHMARK(BM_WlbByDocuments)
    ->ArgName("documents")
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000);

void BM_FixedGreedy(benchmark::State& state) {
  const auto micro_batches = static_cast<size_t>(state.range(0));
  const std::vector<Document> documents = GlobalBatch(micro_batches);
  const WorkloadTable workload = Workload();
  for (auto _ : state) {
    benchmark::DoNotOptimize(PackFixedGreedy(LongestFirst(documents), micro_batches,
                                             {.tokens = kWindow}, workload));
  }
  CountDocuments(state, documents.size());
}
BENCHMARK(BM_FixedGreedy)->Apply(MicroBatches);

void BM_Original(benchmark::State& state) {
  const auto micro_batches = static_cast<size_t>(state.range(0));
  const std::vector<Document> documents = GlobalBatch(micro_batches);
  const WorkloadTable workload = Workload();
  for (auto _ : state) {
    benchmark::DoNotOptimize(PackOriginal(
        PointTo(documents), {micro_batches, {.tokens = kWindow}, true}, workload));
  }
  CountDocuments(state, documents.size());
}
BENCHMARK(BM_Original)->Apply(MicroBatches);

}  // namespace
}  // namespace evenpack
