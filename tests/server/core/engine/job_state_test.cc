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

TEST(JobStateTest, RetainedStepsDoNotCountReconfigurations) {
  JobState state;
  state.history.emplace_back(StepRecord());
  state.history.emplace_back(UpdateRecord());
  state.history.emplace_back(StepRecord());
  EXPECT_EQ(RetainedSteps(state), 2U);
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
