#include "server/core/pipeline/rank_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::ElementsAre;

constexpr uint64_t kPlenty = 1'000'000;

// A crossing as long as the work: one chunk, no loss.
std::vector<MicroBatchLoad> Loads(const std::vector<int64_t>& works) {
  std::vector<MicroBatchLoad> loads;
  for (const int64_t work : works) loads.push_back({work, work});
  return loads;
}

std::vector<uint32_t> Assign(const std::vector<MicroBatchLoad>& loads, uint32_t ranks,
                             uint32_t stages, uint64_t operations) {
  SearchBudget budget(operations);
  return AssignToRanks(loads, ranks, stages, budget);
}

int64_t GreatestEstimateNs(const std::vector<MicroBatchLoad>& loads,
                           const std::vector<uint32_t>& assigned, uint32_t ranks,
                           uint32_t stages) {
  int64_t greatest = 0;
  const size_t micro_batches = loads.size() / ranks;
  for (size_t first = 0; first < loads.size(); first += micro_batches) {
    std::vector<MicroBatchLoad> rank;
    for (size_t i = 0; i < micro_batches; ++i) {
      rank.push_back(loads[assigned[first + i]]);
    }
    greatest = std::max(greatest, EstimateNs(rank, stages));
  }
  return greatest;
}

std::vector<MicroBatchLoad> RandomLoads(std::mt19937_64& random, uint32_t count) {
  std::vector<MicroBatchLoad> loads(count);
  for (MicroBatchLoad& load : loads) {
    load.crossing_ns = Draw(random, 0, 20);
    load.work_ns = load.crossing_ns + Draw(random, 0, 3);
  }
  return loads;
}

TEST(RankAssignment, WeighsPassesChunksAndTheLoss) {
  const PassTime time = {.forward_ns = 3,
                         .backward_ns = 5,
                         .head_forward_ns = 10,
                         .head_backward_ns = 20,
                         .send_ns = 1000};
  EXPECT_THAT(LoadsOf({.virtual_stages = 4}, {{time}}),
              ElementsAre(MicroBatchLoad{4 * 8 + 30, 8}));
}

TEST(RankAssignment, SortsEqualOnesByPosition) {
  EXPECT_THAT(LightestFirst(Loads({5, 3, 5, 1, 3})), ElementsAre(3, 1, 4, 0, 2));
}

TEST(RankAssignment, EstimatesWorkAndTheHeaviestOnesCrossing) {
  EXPECT_EQ(EstimateNs(Loads({5, 9, 2}), 1), 16);
  EXPECT_EQ(EstimateNs(Loads({5, 9, 2}), 4), 16 + 3 * 9);
  const std::vector<MicroBatchLoad> loss = {{100, 1}, {5, 4}};
  EXPECT_EQ(EstimateNs(loss, 3), 105 + 2 * 4);
}

// Of equal ones the estimate is what the pipeline takes.
TEST(RankAssignment, EstimatesEqualOnesExactly) {
  const PassTime time = {.forward_ns = 3, .backward_ns = 7};
  for (const PipelineShape& shape : {PipelineShape{4, 1, 8, 1}, {3, 1, 2, 1}}) {
    const std::vector<PassTime> times(shape.micro_batches, time);
    EXPECT_EQ(EstimateNs(LoadsOf(shape, times), shape.pipeline_parallel),
              PredictPipeline(shape, times).total_ns);
  }
}

TEST(RankAssignment, DealsByWorkWithinEachRanksRoom) {
  // 9 to the first rank, 5, 4 and so on; the first has room for one more small one.
  EXPECT_THAT(Assign(Loads({1, 9, 4, 5}), 2, 1, 0), ElementsAre(1, 0, 3, 2));
  // Two ranks without work take turns as they were before.
  EXPECT_THAT(Assign(Loads({0, 0, 0, 0}), 2, 1, 0), ElementsAre(3, 2, 1, 0));
}

// 20 9 1 | 10 10 2 by work: 30 and 22, but the 20 crosses three more pipeline ranks.
TEST(RankAssignment, ExchangesWhatDealingLeavesUneven) {
  const std::vector<MicroBatchLoad> loads = Loads({20, 10, 10, 9, 2, 1});
  const std::vector<uint32_t> dealt = Assign(loads, 2, 4, 0);
  EXPECT_THAT(dealt, ElementsAre(0, 3, 5, 2, 1, 4));
  EXPECT_EQ(GreatestEstimateNs(loads, dealt, 2, 4), 30 + 3 * 20);
  const std::vector<uint32_t> exchanged = Assign(loads, 2, 4, kPlenty);
  EXPECT_THAT(exchanged, ElementsAre(0, 4, 5, 2, 1, 3));
  EXPECT_EQ(GreatestEstimateNs(loads, exchanged, 2, 4), 23 + 3 * 20);
}

TEST(RankAssignment, AssignsEachOnceAndNoWorseThanItDealt) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 500; ++round) {
    const uint32_t ranks = Draw(random, 1, 5);
    const uint32_t stages = Draw(random, 1, 8);
    const std::vector<MicroBatchLoad> loads =
        RandomLoads(random, ranks * Draw(random, 1, 6));
    const std::vector<uint32_t> dealt = Assign(loads, ranks, stages, 0);
    std::vector<uint32_t> assigned = Assign(loads, ranks, stages, kPlenty);
    ASSERT_LE(GreatestEstimateNs(loads, assigned, ranks, stages),
              GreatestEstimateNs(loads, dealt, ranks, stages));
    std::vector<uint32_t> each(loads.size());
    std::iota(each.begin(), each.end(), 0);
    std::sort(assigned.begin(), assigned.end());
    ASSERT_EQ(assigned, each);
  }
}

// No exchange that the search looks for is left: it weighs them in constant time, this
// test by what they come to.
TEST(RankAssignment, LeavesNoExchangeThatHelps) {
  std::mt19937_64 random(37);
  for (int round = 0; round < 200; ++round) {
    const uint32_t ranks = Draw(random, 2, 4);
    const uint32_t stages = Draw(random, 1, 8);
    const std::vector<MicroBatchLoad> loads =
        RandomLoads(random, ranks * Draw(random, 1, 5));
    std::vector<uint32_t> assigned = Assign(loads, ranks, stages, kPlenty);
    const int64_t greatest = GreatestEstimateNs(loads, assigned, ranks, stages);
    for (size_t i = 0; i < loads.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        std::swap(assigned[i], assigned[j]);
        // Where two ranks are the greatest, an exchange with one of them does not show.
        ASSERT_GE(GreatestEstimateNs(loads, assigned, ranks, stages), greatest);
        std::swap(assigned[i], assigned[j]);
      }
    }
  }
}

TEST(RankAssignment, EndsWithItsBudget) {
  std::mt19937_64 random(41);
  const std::vector<MicroBatchLoad> loads = RandomLoads(random, 32);
  SearchBudget budget(8 * 8 * 3 - 1);
  EXPECT_EQ(AssignToRanks(loads, 4, 4, budget), Assign(loads, 4, 4, 0));
  EXPECT_TRUE(budget.exhausted());
}

}  // namespace
}  // namespace evenpack
