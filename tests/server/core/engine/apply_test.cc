#include "server/core/engine/apply.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::MakeSpec;
using testing::TestJob;

size_t RetainedSteps(const TestJob& job) {
  return static_cast<size_t>(
      std::count_if(job.state().history.begin(), job.state().history.end(),
                    [](const HistoryRecord& record) {
                      return std::holds_alternative<StepRecord>(record);
                    }));
}

// DP = 2, a step for each pair of documents of 10.
TestJob TenSteps(uint32_t retain_checkpoints) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 10);
  spec.data_parallel = 2;
  spec.retain_checkpoints = retain_checkpoints;
  TestJob job(spec);
  EXPECT_THAT(job.Ingest(std::vector<uint32_t>(20, 10)), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_EQ(RetainedSteps(job), 10U);
  return job;
}

void Mark(TestJob& job, uint64_t step) {
  const uint64_t epoch = job.emitted()[step].step.epoch;
  EXPECT_THAT(job.Do(Acknowledge{0, step, epoch}), IsOk());
  EXPECT_THAT(job.Do(Acknowledge{1, step, epoch}), IsOk());
}

TEST(ApplyMarkedTest, AStepIsLetGoOnceEveryRankHasIt) {
  TestJob job = TenSteps(1);
  ASSERT_THAT(job.Do(Acknowledge{0, 6}), IsOk());
  EXPECT_EQ(RetainedSteps(job), 10U);
  ASSERT_THAT(job.Do(Acknowledge{1, 3}), IsOk());
  EXPECT_EQ(RetainedSteps(job), 6U);
  EXPECT_EQ(std::get<StepRecord>(job.state().history.front()).step.index, 4U);
}

TEST(ApplyMarkedTest, OldMarksChangeNothing) {
  TestJob job = TenSteps(1);
  Mark(job, 5);
  const JobState state = job.state();
  Mark(job, 2);
  Mark(job, 5);
  EXPECT_EQ(job.state(), state);
}

TEST(ApplyMarkedTest, CheckpointsThatMustStayKeepTheirSteps) {
  TestJob job = TenSteps(3);
  Mark(job, 1);
  Mark(job, 3);
  EXPECT_EQ(RetainedSteps(job), 10U);  // the start is the third checkpoint
  Mark(job, 5);
  EXPECT_EQ(RetainedSteps(job), 8U);  // 2, 4, 6 steps are restorable
  Mark(job, 9);
  EXPECT_EQ(RetainedSteps(job), 6U);
}

TEST(ApplyMarkedTest, ReconfigurationsAreLetGoWithTheStepsBehindThem) {
  TestJob job = TenSteps(1);
  ASSERT_THAT(job.Do(UpdateJob{8, job.state().spec}), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_EQ(job.state().history.size(), 11U);
  Mark(job, 6);
  EXPECT_EQ(job.state().history.size(), 4U);
  Mark(job, 7);
  EXPECT_EQ(job.state().history.size(), 3U);
  Mark(job, 9);
  EXPECT_TRUE(job.state().history.empty());
}

}  // namespace
}  // namespace evenpack
