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

}  // namespace
}  // namespace evenpack
