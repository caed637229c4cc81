#include "server/core/engine/place_micro_batches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/pipeline/pipeline_time.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

JobSpec Shaped(uint32_t micro_batches, uint32_t data, uint32_t pipeline) {
  JobSpec spec = testing::MakeSpec(PolicyKind::kBalanced, micro_batches, 1000);
  spec.data_parallel = data;
  spec.pipeline_parallel = pipeline;
  return spec;
}

// One document each, whose length is the micro-batch's tokens.
std::vector<MicroBatch> MicroBatches(const std::vector<uint32_t>& tokens) {
  std::vector<MicroBatch> micro_batches;
  for (const Document& document : testing::MakeDocuments(tokens)) {
    MicroBatch& micro_batch = micro_batches.emplace_back();
    micro_batch.documents = {document};
    micro_batch.tokens = document.length;
    micro_batch.workload_ns = int64_t{document.length} * 1000;
  }
  return micro_batches;
}

std::vector<uint32_t> TokensInOrder(const std::vector<MicroBatch>& micro_batches) {
  std::vector<uint32_t> tokens;
  for (const MicroBatch& micro_batch : micro_batches) {
    tokens.push_back(static_cast<uint32_t>(micro_batch.tokens));
  }
  return tokens;
}

int64_t SlowestRank(const JobSpec& spec, const std::vector<MicroBatch>& micro_batches) {
  const PipelineShape shape = {spec.pipeline_parallel, 1,
                               spec.micro_batches / spec.data_parallel, 1};
  int64_t slowest = 0;
  for (size_t first = 0; first < micro_batches.size(); first += shape.micro_batches) {
    std::vector<PassTime> times;
    for (size_t i = 0; i < shape.micro_batches; ++i) {
      const int64_t forward =
          micro_batches[first + i].workload_ns / spec.pipeline_parallel;
      times.push_back({forward, 2 * forward});
    }
    slowest = std::max(slowest, PredictPipeline(shape, times).total_ns);
  }
  return slowest;
}

TEST(PlaceMicroBatchesTest, StayWhereNoOrderMatters) {
  std::vector<MicroBatch> micro_batches = MicroBatches({900, 100, 500, 300});
  PlaceMicroBatches(Shaped(4, 1, 1), micro_batches);
  EXPECT_EQ(TokensInOrder(micro_batches), (std::vector<uint32_t>{900, 100, 500, 300}));
}

TEST(PlaceMicroBatchesTest, EvenOutTheWorkOfDataParallelRanks) {
  std::vector<MicroBatch> micro_batches = MicroBatches({900, 800, 200, 100});
  PlaceMicroBatches(Shaped(4, 2, 1), micro_batches);
  EXPECT_EQ(micro_batches[0].tokens + micro_batches[1].tokens, 1000U);
  EXPECT_EQ(micro_batches[2].tokens + micro_batches[3].tokens, 1000U);
}

TEST(PlaceMicroBatchesTest, PutLikeBesideLikeWhereRanksMeetAtEachPass) {
  JobSpec spec = Shaped(4, 2, 1);
  spec.policy.balanced.sync_domain = SyncDomain::kMicroBatch;
  std::vector<MicroBatch> micro_batches = MicroBatches({900, 200, 800, 100});
  PlaceMicroBatches(spec, micro_batches);
  for (size_t i = 0; i < 2; ++i) {
    const uint64_t first = micro_batches[i].tokens;
    const uint64_t second = micro_batches[2 + i].tokens;
    EXPECT_EQ(first >= 800, second >= 800);
  }
}

TEST(PlaceMicroBatchesTest, NeverTakeLongerThanAsTheyWere) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const uint32_t data = testing::Draw(random, 1, 4);
    const uint32_t per_rank = testing::Draw(random, 1, 8);
    const JobSpec spec = Shaped(data * per_rank, data, testing::Draw(random, 1, 8));
    std::vector<uint32_t> tokens(spec.micro_batches);
    for (uint32_t& count : tokens) count = testing::Draw(random, 1, 1500);
    std::vector<MicroBatch> micro_batches = MicroBatches(tokens);
    const int64_t before = SlowestRank(spec, micro_batches);
    PlaceMicroBatches(spec, micro_batches);
    EXPECT_LE(SlowestRank(spec, micro_batches), before) << seed;
    std::vector<uint32_t> placed = TokensInOrder(micro_batches);
    std::sort(placed.begin(), placed.end());
    std::sort(tokens.begin(), tokens.end());
    EXPECT_EQ(placed, tokens);
  }
}

TEST(PlaceMicroBatchesTest, InFlightAreTheHeaviestOfConsecutiveOnes) {
  const std::vector<MicroBatch> micro_batches =
      MicroBatches({1, 2, 30, 4, 50, 6, 7, 8});
  struct Case {
    uint32_t data, pipeline;
    uint64_t tokens;
  };
  for (const Case& test : {Case{1, 1, 50}, Case{1, 2, 56}, Case{1, 3, 84},
                           Case{1, 16, 108}, Case{2, 2, 56}, Case{2, 4, 71}}) {
    EXPECT_EQ(InFlightTokens(Shaped(8, test.data, test.pipeline), micro_batches),
              test.tokens)
        << test.data << " " << test.pipeline;
  }
}

}  // namespace
}  // namespace evenpack
