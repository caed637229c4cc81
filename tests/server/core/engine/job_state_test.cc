#include "server/core/engine/job_state.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

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

}  // namespace
}  // namespace evenpack
