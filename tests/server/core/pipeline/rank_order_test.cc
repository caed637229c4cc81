#include "server/core/pipeline/rank_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack {
namespace {

TEST(RankOrder, PutsTheHeaviestWhereItsNameSays) {
  const struct {
    RankOrder order;
    std::vector<uint32_t> of_five;
    std::vector<uint32_t> of_two;
  } cases[] = {
      {RankOrder::kHeaviestInside, {1, 3, 5, 4, 2}, {1, 2}},
      {RankOrder::kLightestFirst, {1, 2, 3, 4, 5}, {1, 2}},
      {RankOrder::kLightestLast, {2, 3, 4, 5, 1}, {2, 1}},
      {RankOrder::kHeaviestAfterLightest, {1, 5, 4, 3, 2}, {1, 2}},
  };
  ASSERT_EQ(std::size(cases), kRankOrders.size());
  for (const auto& c : cases) {
    std::vector<uint32_t> five(5);
    Arrange(c.order, std::vector<uint32_t>{1, 2, 3, 4, 5}, five);
    EXPECT_EQ(five, c.of_five);
    std::vector<uint32_t> two(2);
    Arrange(c.order, std::vector<uint32_t>{1, 2}, two);
    EXPECT_EQ(two, c.of_two);
  }
}

TEST(RankOrder, LeavesOneAlone) {
  for (const RankOrder order : kRankOrders) {
    std::vector<uint32_t> one(1);
    Arrange(order, std::vector<uint32_t>{7}, one);
    EXPECT_THAT(one, ::testing::ElementsAre(7));
  }
}

}  // namespace
}  // namespace evenpack
