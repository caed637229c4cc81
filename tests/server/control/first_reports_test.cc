#include "server/control/first_reports.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(FirstReportsTest, AMicroBatchIsFirstOnce) {
  FirstReports reports;
  for (const uint64_t step : {3U, 2U}) {
    for (const uint32_t micro_batch : {0U, 7U}) {
      EXPECT_TRUE(reports.Add(step, micro_batch, 8));
      EXPECT_FALSE(reports.Add(step, micro_batch, 8));
    }
  }
  EXPECT_FALSE(reports.Add(3, 7, 8));
}

TEST(FirstReportsTest, AnEpochBeginsAnew) {
  FirstReports reports;
  EXPECT_TRUE(reports.Add(5, 1, 8));
  reports.Clear();
  EXPECT_TRUE(reports.Add(5, 1, 2));
}

TEST(FirstReportsTest, StepsBeforeTheLastOnesAreForgottenAndNotTaken) {
  FirstReports reports;
  constexpr uint64_t kLast = FirstReports::kMaxSteps;
  for (uint64_t step = 0; step <= kLast; ++step) {
    EXPECT_TRUE(reports.Add(step, 0, 8));
  }
  EXPECT_FALSE(reports.Add(0, 1, 8));
  EXPECT_TRUE(reports.Add(1, 1, 8));
  EXPECT_FALSE(reports.Add(1, 0, 8));
  reports.Clear();
  EXPECT_TRUE(reports.Add(0, 1, 8));
}

TEST(FirstReportsTest, OfLargeStepsFewerAreKept) {
  FirstReports reports;
  constexpr uint32_t kMicroBatches = 65'536;
  constexpr uint64_t kKept = FirstReports::kMaxMicroBatches / kMicroBatches;
  for (uint64_t step = 0; step <= kKept; ++step) {
    EXPECT_TRUE(reports.Add(step, kMicroBatches - 1, kMicroBatches));
  }
  EXPECT_FALSE(reports.Add(0, 0, kMicroBatches));
  EXPECT_TRUE(reports.Add(1, 0, kMicroBatches));
  // One that comes late has no place beside so many later ones.
  FirstReports later;
  for (uint64_t step = 10; step < 10 + kKept; ++step) {
    EXPECT_TRUE(later.Add(step, 0, kMicroBatches));
  }
  EXPECT_FALSE(later.Add(9, 0, kMicroBatches));
  EXPECT_TRUE(later.Add(10, 1, kMicroBatches));
}

}  // namespace
}  // namespace evenpack
