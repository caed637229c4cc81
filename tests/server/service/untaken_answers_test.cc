#include "server/service/untaken_answers.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(UntakenAnswersTest, APeerHasAsManyAsItMayHaveCalls) {
  UntakenAnswers answers(1000);
  EXPECT_EQ(answers.limit(), 1000U);
  for (int i = 0; i < 999; ++i) answers.Add("a", 10);
  EXPECT_TRUE(answers.HasRoom("a"));
  answers.Add("a", 0);
  EXPECT_FALSE(answers.HasRoom("a"));
  EXPECT_TRUE(answers.HasRoom("b"));
  answers.Remove("a", 10);
  EXPECT_TRUE(answers.HasRoom("a"));
}

TEST(UntakenAnswersTest, ALargeAnswerCountsAsSeveral) {
  UntakenAnswers answers(1000);
  answers.Add("a", 998 * kAnswerBytesOfACall + 5);
  EXPECT_TRUE(answers.HasRoom("a"));
  answers.Add("a", kAnswerBytesOfACall - 1);
  EXPECT_FALSE(answers.HasRoom("a"));
  answers.Remove("a", 998 * kAnswerBytesOfACall + 5);
  EXPECT_TRUE(answers.HasRoom("a"));
  EXPECT_EQ(answers.size(), 1U);
  answers.Remove("a", kAnswerBytesOfACall - 1);
  EXPECT_EQ(answers.size(), 0U) << "who has none is forgotten";
}

TEST(UntakenAnswersTest, APeerOfFewCallsMayHaveMoreAnswers) {
  UntakenAnswers answers(1);
  EXPECT_EQ(answers.limit(), kLeastUntakenAnswers);
  // As large as a message is by default.
  answers.Add("a", uint64_t{16} << 20);
  EXPECT_TRUE(answers.HasRoom("a"));
}

TEST(UntakenAnswersTest, NothingIsCountedWherePeersHaveNoBound) {
  UntakenAnswers answers(0);
  for (int i = 0; i < 10'000; ++i) answers.Add("a", kAnswerBytesOfACall);
  EXPECT_TRUE(answers.HasRoom("a"));
  EXPECT_EQ(answers.size(), 0U);
  answers.Remove("a", kAnswerBytesOfACall);
  EXPECT_TRUE(answers.HasRoom("a"));
}

}  // namespace
}  // namespace evenpack
