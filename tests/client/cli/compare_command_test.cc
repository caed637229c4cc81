#include "client/cli/compare_command.h"

#include <gmock/gmock.h>

namespace evenpack {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Names(const JobFlags& flags) {
  std::vector<std::string> names;
  for (const PolicyChoice& choice : ComparedPolicies(flags))
    names.push_back(choice.name);
  return names;
}

TEST(ComparedPoliciesTest, HasARowForEachWay) {
  JobFlags flags;
  flags.window_batches = 8;
  flags.queue_thresholds = {5, 9};
  EXPECT_THAT(Names(flags),
              ElementsAre("original (whole)", "original (split)",
                          "fixed_greedy (1 batch)", "fixed_greedy (8 batches)",
                          "wlb (no queues)", "wlb (5,9)", "balanced"));
  const std::vector<PolicyChoice> choices = ComparedPolicies(flags);
  EXPECT_FALSE(choices[0].flags.split_documents);
  EXPECT_TRUE(choices[1].flags.split_documents);
  EXPECT_EQ(choices[2].flags.window_batches, 1U);
  EXPECT_EQ(choices[3].flags.window_batches, 8U);
  EXPECT_TRUE(choices[4].flags.queue_thresholds.empty());
  EXPECT_THAT(choices[5].flags.queue_thresholds, ElementsAre(5, 9));
  EXPECT_EQ(choices[6].policy, PolicyKind::kBalanced);
  EXPECT_EQ(choices[6].flags.balanced, BalancedSpec());
}

TEST(ComparedPoliciesTest, HasNoRowTwice) {
  EXPECT_THAT(Names(JobFlags()),
              ElementsAre("original (whole)", "original (split)",
                          "fixed_greedy (1 batch)", "wlb (no queues)", "balanced"));
}

}  // namespace
}  // namespace evenpack
