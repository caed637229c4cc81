#include "server/core/pipeline/search_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace evenpack {
namespace {

TEST(SearchBudget, LetsSpendWhatThereIs) {
  SearchBudget budget(10);
  EXPECT_TRUE(budget.Spend(4));
  EXPECT_TRUE(budget.Spend(6));
  EXPECT_TRUE(budget.Spend(0));
  EXPECT_FALSE(budget.exhausted());
  EXPECT_FALSE(budget.Spend(1));
  EXPECT_TRUE(budget.exhausted());
}

TEST(SearchBudget, StaysEmptyOnceAskedForTooMuch) {
  SearchBudget budget(10);
  EXPECT_FALSE(budget.Spend(std::numeric_limits<uint64_t>::max()));
  EXPECT_FALSE(budget.Spend(1));
  EXPECT_FALSE(budget.Spend(0));
  EXPECT_TRUE(budget.exhausted());
}

}  // namespace
}  // namespace evenpack
