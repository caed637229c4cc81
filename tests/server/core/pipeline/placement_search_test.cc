#include "server/core/pipeline/placement_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using testing::RandomTimes;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Two ranks of four micro-batches in pipelines of four.
class PlacementSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(43);
    times_ = RandomTimes(random, 8);
    loads_ = LoadsOf(kShape, times_);
  }

  PlacementSearch Search(SearchBudget& budget) {
    return {timer_, times_, loads_, budget};
  }
  int64_t TotalNs(std::span<const uint32_t> order) {
    return timer_.TotalNs(times_, order);
  }

  static constexpr PipelineShape kShape = {4, 1, 4, 1};
  static constexpr uint64_t kPasses = uint64_t{4} * 4 * 2;
  PipelineTimer timer_{kShape};
  std::vector<PassTime> times_;
  std::vector<MicroBatchLoad> loads_;
};

TEST_F(PlacementSearchTest, TimesTheGivenOrderForNothing) {
  SearchBudget budget(0);
  const RankedOrder given = Search(budget).Given();
  EXPECT_THAT(given.order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(given.total_ns, ElementsAre(TotalNs(std::span(given.order).first(4)),
                                          TotalNs(std::span(given.order).last(4))));
  EXPECT_EQ(given.SlowestNs(), std::max(given.total_ns[0], given.total_ns[1]));
  EXPECT_FALSE(budget.exhausted());
}

TEST_F(PlacementSearchTest, ArrangesEachRankWithoutMovingAnyToAnother) {
  SearchBudget budget(kPasses * 8);
  RankedOrder arranged = Search(budget).Arranged({7, 1, 5, 3, 6, 0, 4, 2});
  EXPECT_EQ(arranged.total_ns[0], TotalNs(std::span(arranged.order).first(4)));
  EXPECT_EQ(arranged.total_ns[1], TotalNs(std::span(arranged.order).last(4)));
  EXPECT_FALSE(budget.exhausted());
  std::sort(arranged.order.begin(), arranged.order.begin() + 4);
  std::sort(arranged.order.begin() + 4, arranged.order.end());
  EXPECT_THAT(arranged.order, ElementsAre(1, 3, 5, 7, 0, 2, 4, 6));
}

TEST_F(PlacementSearchTest, NeverEndsWhatItHasNoBudgetToTime) {
  SearchBudget budget(kPasses * 4);
  const RankedOrder arranged = Search(budget).Arranged({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_LT(arranged.total_ns[0], kNever);
  EXPECT_EQ(arranged.SlowestNs(), kNever);
}

TEST_F(PlacementSearchTest, ImprovesUntilNoMoveHelpsTheSlowest) {
  SearchBudget budget(1'000'000);
  PlacementSearch search = Search(budget);
  RankedOrder ranked = search.Given();
  const int64_t given_ns = ranked.SlowestNs();
  search.Improve(ranked);
  EXPECT_FALSE(budget.exhausted());
  EXPECT_LT(ranked.SlowestNs(), given_ns);
  const RankedOrder improved = ranked;
  search.Improve(ranked);
  EXPECT_EQ(ranked.order, improved.order);
  const size_t slowest = improved.total_ns[0] >= improved.total_ns[1] ? 0 : 1;
  std::vector<uint32_t> order = improved.order;
  for (size_t i = slowest * 4; i < slowest * 4 + 4; ++i) {
    for (size_t j = slowest * 4; j < i; ++j) {
      std::swap(order[i], order[j]);
      EXPECT_GE(TotalNs(std::span(order).subspan(slowest * 4, 4)),
                improved.SlowestNs());
      std::swap(order[i], order[j]);
    }
  }
}

TEST_F(PlacementSearchTest, LeavesAnOrderAsItIsWithoutABudget) {
  SearchBudget budget(0);
  PlacementSearch search = Search(budget);
  RankedOrder ranked = search.Given();
  search.Improve(ranked);
  EXPECT_THAT(ranked.order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(ranked.total_ns, search.Given().total_ns);
}

TEST_F(PlacementSearchTest, TriesAllOrdersOfOneRankWhereTheyFit) {
  times_.resize(4);
  loads_.resize(4);
  SearchBudget budget(23 * kPasses);
  PlacementSearch search = Search(budget);
  EXPECT_FALSE(search.AllOrdersFit(24 * kPasses - 1));
  ASSERT_TRUE(search.AllOrdersFit(24 * kPasses));
  RankedOrder ranked = search.Given();
  search.TryAllOrders(ranked);
  EXPECT_FALSE(budget.exhausted());
  EXPECT_EQ(TotalNs(ranked.order), ranked.SlowestNs());
  std::vector<uint32_t> order = {0, 1, 2, 3};
  std::vector<int64_t> all;
  do all.push_back(TotalNs(order));
  while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(ranked.SlowestNs(), *std::min_element(all.begin(), all.end()));
}

TEST_F(PlacementSearchTest, FindsNoRoomForAllOrdersOfManyRanksOrMicroBatches) {
  SearchBudget budget(0);
  EXPECT_FALSE(Search(budget).AllOrdersFit(kNever));
  PipelineTimer timer({1, 1, 30, 1});
  std::mt19937_64 random(47);
  const std::vector<PassTime> times = RandomTimes(random, 30);
  const std::vector<MicroBatchLoad> loads = LoadsOf({1, 1, 30, 1}, times);
  EXPECT_FALSE(PlacementSearch(timer, times, loads, budget)
                   .AllOrdersFit(std::numeric_limits<uint64_t>::max()));
}

}  // namespace
}  // namespace evenpack
