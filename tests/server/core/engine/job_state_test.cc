#include "server/core/engine/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MakeSpec;
using testing::TestJob;

TEST(JobStateTest, DurableIsTheLeastOfTheRanks) {
  JobState state;
  state.durable = {7, 3, 9};
  EXPECT_EQ(DurableSteps(state), 3U);
}

TEST(JobStateTest, FindsStepsThatWereNotLetGo) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest({10, 10, 10, 10}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(UpdateJob{1, job.state().spec}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(Acknowledge{0, 0}), IsOk());
  EXPECT_EQ(FindStep(job.state(), 0), nullptr);
  ASSERT_NE(FindStep(job.state(), 1), nullptr);
  EXPECT_EQ(*FindStep(job.state(), 2), job.emitted()[2].step);
  EXPECT_EQ(FindStep(job.state(), 3), nullptr);
}

TEST(JobStateTest, DrainedOnceEndedAndEmitted) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  EXPECT_FALSE(IsDrained(job.state()));
  EXPECT_THAT(job.Ingest({10}), IsOk());
  EXPECT_THAT(job.End(), IsOk());
  EXPECT_FALSE(IsDrained(job.state()));
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_TRUE(IsDrained(job.state()));
}

TEST(JobStateTest, TheNextLengthsAreInMergedOrder) {
  JobSpec spec = MakeSpec(PolicyKind::kOriginal, 2, 100);
  spec.streams = {{.name = "a", .weight = 2}, {.name = "b"}};
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({1, 2, 3, 4, 5}), IsOk());
  ASSERT_THAT(job.Ingest({60, 70}, "b"), IsOk());
  EXPECT_THAT(NextLengths(job.state(), 4), ElementsAre(1, 60, 2, 3));
  EXPECT_THAT(NextLengths(job.state(), 0), IsEmpty());
  // The merge waits for a third of b.
  EXPECT_THAT(NextLengths(job.state(), 9), ElementsAre(1, 60, 2, 3, 70, 4, 5));
}

}  // namespace
}  // namespace evenpack
