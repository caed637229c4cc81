#include "server/core/pipeline/pipeline_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::Draw;
using testing::RandomShape;
using testing::RandomTimes;

// Drawn from `count`, repeats among them.
std::vector<uint32_t> RandomOrder(std::mt19937_64& random, uint32_t length,
                                  uint32_t count) {
  std::vector<uint32_t> order(length);
  for (uint32_t& micro_batch : order) micro_batch = Draw(random, 0, count - 1);
  return order;
}

TEST(PipelineTimer, AgreesWithPredictPipelineWhateverWasTimedBefore) {
  std::mt19937_64 random(29);
  for (int round = 0; round < 1000; ++round) {
    const PipelineShape shape = RandomShape(random);
    const uint32_t count = Draw(random, 1, 40);
    const std::vector<PassTime> times = RandomTimes(random, count);
    PipelineTimer timer(shape);
    EXPECT_EQ(timer.micro_batches(), shape.micro_batches);
    for (int order_number = 0; order_number < 3; ++order_number) {
      const std::vector<uint32_t> order =
          RandomOrder(random, shape.micro_batches, count);
      std::vector<PassTime> ordered;
      for (const uint32_t micro_batch : order) ordered.push_back(times[micro_batch]);
      ASSERT_EQ(timer.TotalNs(times, order), PredictPipeline(shape, ordered).total_ns)
          << shape.pipeline_parallel << " ranks, " << shape.virtual_stages
          << " chunks, " << shape.micro_batches << " micro-batches in groups of "
          << shape.virtual_pipeline_group;
    }
  }
}

TEST(PipelineTimer, CountsPassesOfAllRanks) {
  EXPECT_EQ(PipelineTimer({1, 1, 1, 1}).passes(), 2);
  EXPECT_EQ(PipelineTimer({4, 1, 6, 1}).passes(), 4 * 6 * 2);
  EXPECT_EQ(PipelineTimer({4, 3, 8, 4}).passes(), 4 * 3 * 8 * 2);
}

TEST(PipelineTimer, HoldsTheMostAndLongestPasses) {
  const std::vector<PassTime> times = {
      {kMaxPassNs, kMaxPassNs, kMaxPassNs, kMaxPassNs, kMaxPassNs}};
  for (const PipelineShape& shape :
       {PipelineShape{1, 1, kMaxPasses / 2, 1}, PipelineShape{1024, 1, 512, 1}}) {
    PipelineTimer timer(shape);
    EXPECT_EQ(timer.passes(), kMaxPasses);
    EXPECT_EQ(
        timer.TotalNs(times, std::vector<uint32_t>(shape.micro_batches, 0)),
        PredictPipeline(shape, std::vector(shape.micro_batches, times[0])).total_ns);
  }
}

}  // namespace
}  // namespace evenpack
