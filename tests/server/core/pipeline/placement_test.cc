#include "server/core/pipeline/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/server/core/pipeline/placed_step.h"
#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::ElementsAre;
using testing::PlacedStepNs;
using testing::RandomShape;
using testing::RandomTimes;

constexpr SyncDomain kDomains[] = {SyncDomain::kStep, SyncDomain::kMicroBatch};

std::vector<uint32_t> InTurn(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Passes as packed micro-batches have them: backward about twice forward, some twice as
// heavy as others, a small loss.
std::vector<PassTime> UnevenTimes(std::mt19937_64& random, uint32_t count) {
  std::vector<PassTime> times(count);
  for (PassTime& time : times) {
    time.forward_ns = Draw(random, 1000, 3000);
    if (Draw(random, 0, 7) == 0) time.forward_ns *= 2;
    time.backward_ns = time.forward_ns * Draw(random, 19, 24) / 10;
    time.head_forward_ns = 50;
    time.head_backward_ns = 100;
    time.send_ns = 20;
  }
  return times;
}

TEST(Placement, SaysWhatItsOrderTakesAndNeverMoreThanTheGivenOne) {
  std::mt19937_64 random(53);
  for (int round = 0; round < 300; ++round) {
    const PipelineShape shape = RandomShape(random);
    const uint32_t ranks = Draw(random, 1, 4);
    const SyncDomain domain = kDomains[round % 2];
    const auto times = RandomTimes(random, shape.micro_batches * ranks);
    const uint64_t operations = uint64_t{1} << Draw(random, 0, 18);
    const Placement placement = Placer(shape, ranks, domain).Place(times, operations);
    ASSERT_EQ(placement.given_ns,
              PlacedStepNs(shape, domain, times, InTurn(times.size())));
    ASSERT_EQ(placement.placed_ns, PlacedStepNs(shape, domain, times, placement.order));
    ASSERT_LE(placement.placed_ns, placement.given_ns);
    std::vector<uint32_t> each = placement.order;
    std::sort(each.begin(), each.end());
    ASSERT_EQ(each, InTurn(times.size()));
  }
}

TEST(Placement, KeepsTheGivenOrderWhereNoneIsShorter) {
  const PassTime time = {.forward_ns = 10, .backward_ns = 20};
  for (const SyncDomain domain : kDomains) {
    Placer placer({4, 1, 8, 1}, 2, domain);
    const std::vector<PassTime> equal(16, time);
    EXPECT_EQ(placer.Place(equal, PlacementBudget(16)).order, InTurn(16));
  }
}

TEST(Placement, KeepsTheGivenOrderWithoutABudget) {
  std::mt19937_64 random(59);
  const Placement placement =
      Placer({4, 1, 8, 1}, 2, SyncDomain::kStep).Place(UnevenTimes(random, 16), 0);
  EXPECT_EQ(placement.order, InTurn(16));
  EXPECT_EQ(placement.placed_ns, placement.given_ns);
}

// Two light and two heavy micro-batches, of which light ones belong to the ends.
TEST(Placement, PutsHeavyMicroBatchesInside) {
  const PassTime light = {.forward_ns = 10, .backward_ns = 20};
  const PassTime heavy = {.forward_ns = 20, .backward_ns = 40};
  Placer placer({4, 1, 4, 1}, 1, SyncDomain::kStep);
  const Placement placement =
      placer.Place(std::vector{heavy, light, light, heavy}, PlacementBudget(4));
  EXPECT_THAT(placement.order, ElementsAre(1, 0, 3, 2));
  EXPECT_LT(placement.placed_ns, placement.given_ns);
}

TEST(Placement, SharesOutWorkWhereRanksMeetAtTheStepsEnd) {
  const PassTime light = {.forward_ns = 10, .backward_ns = 20};
  const PassTime heavy = {.forward_ns = 40, .backward_ns = 80};
  Placer placer({1, 1, 2, 1}, 2, SyncDomain::kStep);
  const Placement placement =
      placer.Place(std::vector{heavy, heavy, light, light}, PlacementBudget(4));
  EXPECT_EQ(placement.given_ns, 240);
  EXPECT_EQ(placement.placed_ns, 150);
}

TEST(Placement, PairsAlikeWhereRanksMeetAtEveryMicroBatch) {
  const PassTime light = {.forward_ns = 10, .backward_ns = 20};
  const PassTime heavy = {.forward_ns = 40, .backward_ns = 80};
  Placer placer({1, 1, 2, 1}, 2, SyncDomain::kMicroBatch);
  const Placement placement =
      placer.Place(std::vector{heavy, light, light, heavy}, PlacementBudget(4));
  EXPECT_EQ(placement.given_ns, 240);
  EXPECT_EQ(placement.placed_ns, 150);
  EXPECT_THAT(placement.order, ElementsAre(1, 0, 2, 3));
}

// The least of all placements. Which rank a whole order goes to, and which of those
// that meet, makes no difference, but all are tried.
int64_t LeastNs(const PipelineShape& shape, uint32_t ranks, SyncDomain domain,
                const std::vector<PassTime>& times) {
  PipelineTimer timer(shape);
  const size_t micro_batches = shape.micro_batches;
  std::vector<uint32_t> order = InTurn(times.size());
  int64_t least_ns = std::numeric_limits<int64_t>::max();
  do {
    int64_t step_ns = 0;
    if (domain == SyncDomain::kMicroBatch) {
      std::vector<PassTime> slowest;
      for (size_t i = 0; i < micro_batches; ++i) {
        std::vector<PassTime> meeting;
        for (size_t rank = 0; rank < ranks; ++rank) {
          meeting.push_back(times[order[rank * micro_batches + i]]);
        }
        slowest.push_back(SlowestOf(meeting));
      }
      step_ns = timer.TotalNs(slowest, InTurn(micro_batches));
    } else {
      for (size_t rank = 0; rank < ranks; ++rank) {
        const auto of_rank =
            std::span(order).subspan(rank * micro_batches, micro_batches);
        step_ns = std::max(step_ns, timer.TotalNs(times, of_rank));
      }
    }
    least_ns = std::min(least_ns, step_ns);
  } while (std::next_permutation(order.begin(), order.end()));
  return least_ns;
}

struct SmallShape {
  PipelineShape shape;
  uint32_t ranks;
  SyncDomain domain;
  // Most that one placement, and all together, take over the least.
  double most;
  double most_together;
};

class PlacementOfSmallShapes : public ::testing::TestWithParam<SmallShape> {};

TEST_P(PlacementOfSmallShapes, IsNearTheLeastOfAll) {
  const auto& [shape, ranks, domain, most, most_together] = GetParam();
  std::mt19937_64 random(61);
  Placer placer(shape, ranks, domain);
  double placed = 0;
  double least = 0;
  double worst = 1;
  const uint32_t count = shape.micro_batches * ranks;
  for (int round = 0; round < (count < 8 ? 60 : 8); ++round) {
    const std::vector<PassTime> times = UnevenTimes(random, count);
    const auto placed_ns =
        static_cast<double>(placer.Place(times, PlacementBudget(count)).placed_ns);
    const auto least_ns = static_cast<double>(LeastNs(shape, ranks, domain, times));
    placed += placed_ns;
    least += least_ns;
    worst = std::max(worst, placed_ns / least_ns);
  }
  EXPECT_LE(worst, most);
  EXPECT_LE(placed / least, most_together);
  RecordProperty("worst", std::to_string(worst));
  RecordProperty("together", std::to_string(placed / least));
}

INSTANTIATE_TEST_SUITE_P(
    , PlacementOfSmallShapes,
    ::testing::Values(SmallShape{{4, 1, 4, 1}, 1, SyncDomain::kStep, 1, 1},
                      SmallShape{{4, 2, 4, 4}, 1, SyncDomain::kStep, 1, 1},
                      SmallShape{{4, 1, 6, 1}, 1, SyncDomain::kStep, 1, 1},
                      SmallShape{{2, 1, 6, 1}, 1, SyncDomain::kStep, 1, 1},
                      SmallShape{{4, 1, 2, 1}, 3, SyncDomain::kStep, 1.01, 1.001},
                      SmallShape{{4, 1, 3, 1}, 2, SyncDomain::kStep, 1.01, 1.001},
                      SmallShape{{1, 1, 3, 1}, 2, SyncDomain::kStep, 1.01, 1.001},
                      SmallShape{{4, 1, 4, 1}, 2, SyncDomain::kStep, 1.01, 1.001},
                      SmallShape{{4, 1, 3, 1}, 2, SyncDomain::kMicroBatch, 1.01, 1.001},
                      SmallShape{{2, 2, 2, 2}, 3, SyncDomain::kMicroBatch, 1.01, 1.001},
                      SmallShape{
                          {4, 1, 4, 1}, 2, SyncDomain::kMicroBatch, 1.01, 1.001}));

TEST(Placement, EndsWithItsBudgetWhateverTheShape) {
  std::mt19937_64 random(67);
  // All that N = 65,536 micro-batches may cost: the given order, once.
  Placer placer({1, 1, 64, 1}, 1024, SyncDomain::kStep);
  const std::vector<PassTime> times = UnevenTimes(random, 65536);
  EXPECT_EQ(placer.Place(times, 1).order, InTurn(65536));
  const Placement placement = placer.Place(times, 1'000'000);
  EXPECT_LT(placement.placed_ns, placement.given_ns);
}

// Decisions are replayed elsewhere.
TEST(Placement, IsTheSameOnEveryMachine) {
  std::mt19937_64 random(73);
  const std::vector<PassTime> times = UnevenTimes(random, 16);
  EXPECT_THAT(Placer({4, 1, 4, 1}, 4, SyncDomain::kStep)
                  .Place(times, PlacementBudget(16))
                  .order,
              ElementsAre(7, 8, 11, 4, 2, 6, 1, 5, 10, 3, 15, 12, 13, 9, 14, 0));
  EXPECT_THAT(Placer({4, 2, 4, 4}, 4, SyncDomain::kMicroBatch)
                  .Place(times, PlacementBudget(16))
                  .order,
              ElementsAre(4, 0, 1, 3, 7, 2, 9, 6, 8, 5, 12, 11, 10, 13, 15, 14));
}

}  // namespace
}  // namespace evenpack
