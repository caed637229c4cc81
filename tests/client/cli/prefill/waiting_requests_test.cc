#include "client/cli/prefill/waiting_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(WaitingRequests, FindsTheLongestThatFitsAndOfEqualOnesTheFirst) {
  const std::vector<uint32_t> lengths = {5, 9, 3, 9, 2'147'483'647};
  WaitingRequests waiting(lengths);
  for (uint32_t request = 0; request < 5; ++request) waiting.Add(request);
  EXPECT_THAT(waiting.LongestUpTo(2'147'483'647), Optional(4));
  EXPECT_THAT(waiting.LongestUpTo(100), Optional(1));
  EXPECT_THAT(waiting.LongestUpTo(9), Optional(1));
  EXPECT_THAT(waiting.LongestUpTo(8), Optional(0));
  EXPECT_THAT(waiting.LongestUpTo(3), Optional(2));
  EXPECT_EQ(waiting.LongestUpTo(2), std::nullopt);
  waiting.Remove(1);
  EXPECT_THAT(waiting.LongestUpTo(100), Optional(3));
}

TEST(WaitingRequests, KeepsTheOrderOfArrival) {
  const std::vector<uint32_t> lengths = {5, 9, 3};
  WaitingRequests waiting(lengths);
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(waiting.LongestUpTo(100), std::nullopt);
  for (uint32_t request = 0; request < 3; ++request) waiting.Add(request);
  waiting.Remove(1);
  EXPECT_THAT(waiting.by_arrival(), ElementsAre(0, 2));
  EXPECT_EQ(waiting.size(), 2);
  EXPECT_EQ(waiting.LengthOf(2), 3);
}

}  // namespace
}  // namespace evenpack
