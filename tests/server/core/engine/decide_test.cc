#include "server/core/engine/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

TEST(DecideTest, NothingIsAskedOfAJobThatWasNotCreated) {
  const JobState state;
  const Command commands[] = {UpdateJob{}, Ingest{}, EndOfStream{}, FormStep{},
                              Acknowledge{}};
  for (const Command& command : commands) {
    EXPECT_THAT(Decide(state, command),
                StatusIs(absl::StatusCode::kNotFound, "the job was not created"));
  }
}

TEST(DecideTest, AJobIsCreatedOnceAndWithAValidSpec) {
  JobSpec bad = MakeSpec(PolicyKind::kWlb, 2, 100);
  bad.window = 0;
  EXPECT_THAT(Decide(JobState(), CreateJob{bad}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window: 0")));
  const TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  EXPECT_THAT(Decide(job.state(), CreateJob{MakeSpec(PolicyKind::kWlb, 2, 100)}),
              StatusIs(absl::StatusCode::kAlreadyExists, "the job exists already"));
}

TEST(DecideTest, AcknowledgementsNameARankAndADecidedStep) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.data_parallel = 2;
  TestJob job(spec);
  EXPECT_THAT(Decide(job.state(), Acknowledge{0, 0}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "step: 0 is not decided; accepted: none, since no step is"));
  ASSERT_THAT(job.Ingest({100, 100}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_THAT(Decide(job.state(), Acknowledge{2, 0}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "data_parallel_rank: 2 is not accepted; accepted: 0 to 1"));
  EXPECT_THAT(Decide(job.state(), Acknowledge{0, 1}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "step: 1 is not decided; accepted: below 1"));
  EXPECT_THAT(Decide(job.state(), Acknowledge{1, 0}), IsOk());
}

TEST(DecideTest, AMarkForAStepThatWasFormedAnewIsAborted) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest({10, 10, 10}), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(UpdateJob{1, job.state().spec}), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_THAT(
      Decide(job.state(), Acknowledge{0, 2, 0}),
      StatusIs(absl::StatusCode::kAborted,
               "epoch: 0 is not that of step 2; accepted: 1, under which it was "
               "formed anew"));
  EXPECT_THAT(job.Do(Acknowledge{0, 0, 0}), IsOk());  // stands as it was received
  EXPECT_THAT(job.Do(Acknowledge{0, 2, 1}), IsOk());
  EXPECT_THAT(job.Do(Acknowledge{0, 0, 0}), IsOk());  // let go: no change
}

}  // namespace
}  // namespace evenpack
