#include "server/core/pipeline/pipeline_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/core/pipeline/event_simulation.h"
#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::ElementsAre;
using testing::EventSimulation;
using testing::RandomShape;
using testing::RandomTimes;

std::vector<PassTime> Equal(const PipelineShape& shape, const PassTime& time) {
  return std::vector<PassTime>(shape.micro_batches, time);
}

int64_t TotalNs(const PipelineShape& shape, const std::vector<PassTime>& times) {
  return PredictPipeline(shape, times).total_ns;
}

TEST(PredictPipeline, OfEqualMicroBatchesHasABubbleOfAllOtherRanks) {
  for (const auto& [forward, backward] :
       {std::pair{1, 2}, {3, 3}, {7, 2}, {0, 5}, {5, 0}, {0, 0}}) {
    const PassTime time = {.forward_ns = forward, .backward_ns = backward};
    for (const PipelineShape& shape :
         {PipelineShape{1, 1, 5, 1}, PipelineShape{4, 1, 1, 1},
          PipelineShape{4, 1, 3, 1}, PipelineShape{4, 1, 4, 1},
          PipelineShape{4, 1, 16, 1}, PipelineShape{7, 1, 9, 1},
          PipelineShape{1, 3, 6, 2}, PipelineShape{2, 2, 4, 2},
          PipelineShape{4, 2, 4, 4}, PipelineShape{4, 2, 16, 4},
          PipelineShape{8, 3, 24, 8}}) {
      const int64_t passes = int64_t{shape.micro_batches} * shape.virtual_stages;
      const PipelineTime predicted = PredictPipeline(shape, Equal(shape, time));
      EXPECT_EQ(predicted.total_ns,
                (passes + shape.pipeline_parallel - 1) * (forward + backward))
          << shape.pipeline_parallel << " ranks, " << shape.virtual_stages
          << " chunks, " << shape.micro_batches << " micro-batches of " << forward
          << " and " << backward;
      EXPECT_THAT(predicted.busy_ns, ::testing::Each(passes * (forward + backward)));
    }
  }
}

// Forward 10 and backward 20 of the heavy one, 1 and 2 of the others, four ranks. The
// heavy one crosses them one after the other, 4 * 30; before it the first rank has the
// forward passes of those before, after it the backward passes of those behind.
TEST(PredictPipeline, WaitsForAHeavyMicroBatchOnEveryRank) {
  const PipelineShape shape = {.pipeline_parallel = 4, .micro_batches = 4};
  for (const int64_t heavy : {0, 1, 2, 3}) {
    std::vector<PassTime> times = Equal(shape, {.forward_ns = 1, .backward_ns = 2});
    times[static_cast<size_t>(heavy)] = {.forward_ns = 10, .backward_ns = 20};
    const PipelineTime predicted = PredictPipeline(shape, times);
    EXPECT_EQ(predicted.total_ns, heavy * 1 + 4 * (10 + 20) + (3 - heavy) * 2);
    EXPECT_THAT(predicted.busy_ns, ::testing::Each(3 * 3 + 30));
  }
}

// What the first rank does before: three forward and two backward passes, 7, and 2 ns
// of waiting for the first gradient.
TEST(PredictPipeline, AddsTheOthersToAHeavyOneThatComesLate) {
  const PipelineShape shape = {.pipeline_parallel = 2, .micro_batches = 4};
  std::vector<PassTime> times = Equal(shape, {.forward_ns = 1, .backward_ns = 2});
  times[3] = {.forward_ns = 10, .backward_ns = 20};
  // First rank: F0 0-1, F1 1-2, B0 4-6, F2 6-7, B1 7-9, F3 9-19. There F3 ends at 29
  // and B3 at 49, here at 69.
  EXPECT_EQ(TotalNs(shape, times), 7 + 2 + 2 * (10 + 20));
}

TEST(PredictPipeline, SendsBetweenRanksAlone) {
  const PassTime time = {.forward_ns = 3, .backward_ns = 5, .send_ns = 7};
  const struct {
    PipelineShape shape;
    int64_t total_ns;
  } cases[] = {
      {{2, 1, 1, 1}, 2 * 8 + 2 * 7},
      {{4, 1, 1, 1}, 4 * 8 + 6 * 7},
      // From the last rank to the first one's next chunk too.
      {{2, 2, 1, 1}, 4 * 8 + 6 * 7},
      {{4, 3, 1, 1}, 12 * 8 + 22 * 7},
      {{1, 1, 3, 1}, 3 * 8},
      {{1, 4, 3, 1}, 12 * 8},
      // F0 0-3, F1 3-6, there 10-13; B0 13-18, F1 18-21, B1 21-26; back 33-38. The
      // gradient of 0 came at 25.
      {{2, 1, 2, 1}, 38},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(TotalNs(c.shape, Equal(c.shape, time)), c.total_ns)
        << c.shape.pipeline_parallel << " ranks, " << c.shape.virtual_stages
        << " chunks";
  }
}

TEST(PredictPipeline, HasTheLossOnTheLastChunkOfTheLastRank) {
  const PassTime time = {
      .forward_ns = 3, .backward_ns = 5, .head_forward_ns = 2, .head_backward_ns = 4};
  PipelineTime predicted = PredictPipeline({2, 1, 1, 1}, {{time}});
  EXPECT_EQ(predicted.total_ns, 2 * 8 + 6);
  EXPECT_THAT(predicted.busy_ns, ElementsAre(8, 14));
  predicted = PredictPipeline({2, 2, 1, 1}, {{time}});
  EXPECT_EQ(predicted.total_ns, 4 * 8 + 6);
  EXPECT_THAT(predicted.busy_ns, ElementsAre(16, 22));
  predicted = PredictPipeline({1, 2, 1, 1}, {{time}});
  EXPECT_EQ(predicted.total_ns, 2 * 8 + 6);
  EXPECT_THAT(predicted.busy_ns, ElementsAre(22));
}

TEST(PredictPipeline, AgreesWithASimulationOfItsEvents) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 2000; ++round) {
    const PipelineShape shape = RandomShape(random);
    const std::vector<PassTime> times = RandomTimes(random, shape.micro_batches);
    const PipelineTime predicted = PredictPipeline(shape, times);
    EventSimulation simulation(shape, {times}, /*lockstep=*/false);
    const std::optional<int64_t> simulated = simulation.Run();
    ASSERT_TRUE(simulated.has_value()) << "ranks wait for each other";
    ASSERT_EQ(predicted.total_ns, *simulated)
        << shape.pipeline_parallel << " ranks, " << shape.virtual_stages << " chunks, "
        << shape.micro_batches << " micro-batches in groups of "
        << shape.virtual_pipeline_group;
    for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
      ASSERT_EQ(predicted.busy_ns[rank], simulation.BusyNs(0, rank));
    }
  }
}

// Every shape that Validate accepts among small ones, and none that it refuses only for
// its group: such ranks would wait for ever.
TEST(PredictPipeline, NoValidShapeWaitsForEver) {
  int refused_and_stuck = 0;
  for (uint32_t ranks = 1; ranks <= 6; ++ranks) {
    for (uint32_t chunks = 1; chunks <= 3; ++chunks) {
      for (uint32_t group = 1; group <= 8; ++group) {
        for (uint32_t groups = 1; groups <= 4; ++groups) {
          const PipelineShape shape = {ranks, chunks, group * groups, group};
          EventSimulation simulation(
              shape, {Equal(shape, {.forward_ns = 1, .backward_ns = 2})}, false);
          const bool ends = simulation.Run().has_value();
          if (Validate(shape).ok()) {
            EXPECT_TRUE(ends) << ranks << " ranks, " << chunks << " chunks, " << groups
                              << " groups of " << group;
          } else {
            refused_and_stuck += ends ? 0 : 1;
          }
        }
      }
    }
  }
  EXPECT_GT(refused_and_stuck, 50);
}

TEST(PredictPipeline, NeverGetsFasterWhereOneTimeGrows) {
  std::mt19937_64 random(23);
  int64_t PassTime::*const fields[] = {&PassTime::forward_ns, &PassTime::backward_ns,
                                       &PassTime::head_forward_ns,
                                       &PassTime::head_backward_ns, &PassTime::send_ns};
  for (int round = 0; round < 2000; ++round) {
    const PipelineShape shape = RandomShape(random);
    std::vector<PassTime> times = RandomTimes(random, shape.micro_batches);
    const int64_t before = TotalNs(shape, times);
    times[Draw(random, 0, shape.micro_batches - 1)].*fields[Draw(random, 0, 4)] +=
        Draw(random, 1, 100);
    ASSERT_GE(TotalNs(shape, times), before);
  }
}

TEST(PredictPipeline, HoldsTheMostAndLongestPasses) {
  constexpr PassTime kLongest = {kMaxPassNs, kMaxPassNs, kMaxPassNs, kMaxPassNs,
                                 kMaxPassNs};
  const PipelineShape one_rank = {1, 1, kMaxPasses / 2, 1};
  EXPECT_EQ(TotalNs(one_rank, Equal(one_rank, kLongest)), int64_t{1} << 61);
  const PipelineShape many_ranks = {1024, 1, 512, 1};
  ASSERT_TRUE(Validate(many_ranks).ok());
  const PipelineTime predicted =
      PredictPipeline(many_ranks, Equal(many_ranks, kLongest));
  EXPECT_GT(predicted.total_ns, 1535 * 2 * kMaxPassNs);
  EXPECT_LT(predicted.total_ns, int64_t{1} << 62);
  EXPECT_EQ(predicted.busy_ns.back(), 2048 * kMaxPassNs);
}

TEST(SlowestOf, TakesEachPassFromWhereItIsLongest) {
  const PassTime work = {.forward_ns = 30,
                         .backward_ns = 60,
                         .head_forward_ns = 1,
                         .head_backward_ns = 2,
                         .send_ns = 3};
  const PassTime loss = {.forward_ns = 20,
                         .backward_ns = 40,
                         .head_forward_ns = 15,
                         .head_backward_ns = 21,
                         .send_ns = 7};
  EXPECT_EQ(SlowestOf(std::vector{work}), work);
  const PassTime both = {.forward_ns = 30,
                         .backward_ns = 60,
                         // 20 + 15 of the one, 60 + 2 of the other.
                         .head_forward_ns = 5,
                         .head_backward_ns = 2,
                         .send_ns = 7};
  EXPECT_EQ(SlowestOf(std::vector{work, loss}), both);
  EXPECT_EQ(SlowestOf(std::vector{loss, work}), both);
}

}  // namespace
}  // namespace evenpack
