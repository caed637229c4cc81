#include "server/core/outlier/queue_thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::StatusIs;

TEST(QueueThresholdsTest, RisingThresholdsAreValid) {
  for (const std::vector<uint32_t>& thresholds :
       {std::vector<uint32_t>{}, {1}, {1, 2}, {49152, 98304}, {2147483647}}) {
    EXPECT_THAT(ValidateQueueThresholds(thresholds), IsOk());
  }
}

TEST(QueueThresholdsTest, OthersAreRefusedByName) {
  struct {
    std::vector<uint32_t> thresholds;
    const char* message;
  } const cases[] = {
      {{0},
       "queue_thresholds[0]: 0 is not accepted; accepted: rising token counts "
       "from 1 to 2147483647, here at least 1"},
      {{5, 5},
       "queue_thresholds[1]: 5 is not accepted; accepted: rising token counts "
       "from 1 to 2147483647, here at least 6"},
      {{9, 12, 3},
       "queue_thresholds[2]: 3 is not accepted; accepted: rising token "
       "counts from 1 to 2147483647, here at least 13"},
      {{2147483648U},
       "queue_thresholds[0]: 2147483648 is not accepted; accepted: "
       "rising token counts from 1 to 2147483647, here at least 1"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ValidateQueueThresholds(c.thresholds),
                StatusIs(absl::StatusCode::kInvalidArgument, c.message));
  }
}

TEST(QueueThresholdsTest, ADocumentAtAThresholdBelongsToItsQueue) {
  const std::vector<uint32_t> thresholds = {100, 200};
  EXPECT_EQ(QueueOf(thresholds, 99), std::nullopt);
  EXPECT_EQ(QueueOf(thresholds, 100), 0U);
  EXPECT_EQ(QueueOf(thresholds, 199), 0U);
  EXPECT_EQ(QueueOf(thresholds, 200), 1U);
  EXPECT_EQ(QueueOf(thresholds, 2147483647), 1U);
  EXPECT_EQ(QueueOf({}, 2147483647), std::nullopt);
}

}  // namespace
}  // namespace evenpack
