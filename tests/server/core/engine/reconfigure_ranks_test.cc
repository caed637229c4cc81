// Jobs that are updated to fewer ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "server/core/engine/reconfigure.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

// What is decided stays where ranks of the new shape can ask for all of it; where they
// can't, somebody has to say that the others have their share.
TEST(UpdateTest, WithoutFromStepNoShareOfAStepThatIsNotDurableIsLost) {
  JobSpec wide = MakeSpec(PolicyKind::kWlb, 4, 10);
  wide.data_parallel = 2;
  wide.context_parallel = 2;
  JobSpec narrow = wide;
  narrow.data_parallel = 1;
  JobSpec uncut = wide;
  uncut.context_parallel = 1;
  const auto make = [&wide] {
    TestJob job(wide);
    EXPECT_THAT(job.Ingest(std::vector<uint32_t>(20, 10)), IsOk());
    job.FormAll().IgnoreError();
    EXPECT_EQ(job.state().position.next_step, 5U);
    for (const uint32_t rank : {0U, 1U}) {
      EXPECT_THAT(job.Do(Acknowledge{rank, 1}), IsOk());
    }
    return job;
  };
  for (const JobSpec& spec : {narrow, uncut}) {
    TestJob job = make();
    EXPECT_THAT(job.Do(UpdateJob{{}, spec}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("from_step: not set is not accepted where steps "
                                   "from 2 on aren't durable and have 2 x 2 ranks")));
    EXPECT_THAT(job.Do(UpdateJob{5, spec}), IsOk());
    // Those steps are still there, of the shape that they had.
    EXPECT_THAT(
        job.Do(UpdateJob{{}, spec}),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("from 2 on")));
    EXPECT_THAT(job.Do(UpdateJob{2, spec}), IsOk());
    EXPECT_THAT(job.Do(UpdateJob{{}, spec}), IsOk());
  }
  TestJob grown = make();
  JobSpec wider = wide;
  wider.data_parallel = 4;
  EXPECT_THAT(grown.Do(UpdateJob{{}, wider}), IsOk());
  EXPECT_EQ(grown.state().position.next_step, 5U);
  TestJob durable = make();
  for (const uint32_t rank : {0U, 1U}) {
    EXPECT_THAT(durable.Do(Acknowledge{rank, 4}), IsOk());
  }
  EXPECT_THAT(durable.Do(UpdateJob{{}, narrow}), IsOk());
}

}  // namespace
}  // namespace evenpack
