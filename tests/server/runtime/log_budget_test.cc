#include "server/runtime/log_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::seconds;
using testing::FakeClock;
using ::testing::Optional;

TEST(LogBudgetTest, APlaceHasSoManyLinesInAWhileAndThenSaysHowManyItLacked) {
  FakeClock clock;
  LogBudget budget(clock, {.lines = 2, .in = seconds(60)});
  EXPECT_THAT(budget.Take("a.cc:1"), Optional(0));
  EXPECT_THAT(budget.Take("a.cc:1"), Optional(0));
  EXPECT_EQ(budget.Take("a.cc:1"), std::nullopt);
  clock.Advance(seconds(59));
  EXPECT_EQ(budget.Take("a.cc:1"), std::nullopt);
  clock.Advance(seconds(1));
  EXPECT_THAT(budget.Take("a.cc:1"), Optional(2));
  EXPECT_THAT(budget.Take("a.cc:1"), Optional(0));
  EXPECT_EQ(budget.Take("a.cc:1"), std::nullopt);
}

TEST(LogBudgetTest, PlacesTakeNothingFromEachOther) {
  FakeClock clock;
  LogBudget budget(clock, {.lines = 1});
  EXPECT_THAT(budget.Take("a.cc:1"), Optional(0));
  EXPECT_EQ(budget.Take("a.cc:1"), std::nullopt);
  EXPECT_THAT(budget.Take("a.cc:2"), Optional(0));
}

}  // namespace
}  // namespace evenpack
