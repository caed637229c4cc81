#include "server/core/engine/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/engine/event_codec.h"
#include "server/core/engine/replay.h"
#include "server/core/engine/state_codec.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::QuadraticWorkload;
using testing::StatusIs;
using testing::TestJob;

// Attention from far shorter documents on, so that steps are packed otherwise.
CalibrateCost Calibrated(const JobSpec& spec) {
  return {QuadraticWorkload(100, spec.max_length, spec.micro_batches), "calibrated"};
}

JobSpec WindowSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 4, 1000);
  spec.policy.window_batches = 4;
  return spec;
}

TEST(CalibrateTest, StepsFromTheNextOnHaveTheNewCostsAndTheEpochStays) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(23, 3000, 1000);
  TestJob before(testing::QueueSpec());
  ASSERT_THAT(before.Ingest(lengths), IsOk());
  before.FormAll().IgnoreError();

  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  for (int i = 0; i < 5; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
  const CalibrateCost command = Calibrated(job.state().spec);
  ASSERT_THAT(job.Do(command), IsOk());
  EXPECT_EQ(job.state().epoch, 0U);
  EXPECT_EQ(job.state().position.next_step, 5U);
  EXPECT_EQ(job.state().spec.workload, command.workload);
  EXPECT_EQ(job.state().spec.description, "calibrated");
  job.FormAll().IgnoreError();
  ASSERT_GT(job.emitted().size(), 10U);
  for (size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(job.emitted()[k].step, before.emitted()[k].step);
  }
  EXPECT_NE(job.emitted()[5].step.micro_batches,
            before.emitted()[5].step.micro_batches);
  for (size_t k = 5; k < job.emitted().size(); ++k) {
    EXPECT_EQ(job.emitted()[k].step.epoch, 0U);
  }
  ASSERT_THAT(job.End(), IsOk());
  job.FormAll().IgnoreError();
  ExpectExactlyOnce(job, {lengths});
}

TEST(CalibrateTest, WhatWaitsStaysWhereItIs) {
  for (const JobSpec& spec : {testing::QueueSpec(), WindowSpec()}) {
    TestJob job(spec);
    ASSERT_THAT(job.Ingest(testing::SkewedLengths(5, 3000, 1000)), IsOk());
    for (int i = 0; i < 5; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
    const Waiting waiting = job.state().waiting;
    ASSERT_FALSE(IsEmpty(waiting));
    ASSERT_THAT(job.Do(Calibrated(spec)), IsOk());
    EXPECT_EQ(job.state().waiting, waiting);
  }
}

TEST(CalibrateTest, AMarkAndAWithdrawalKnowNothingOfIt) {
  for (const JobSpec& spec : {testing::QueueSpec(), WindowSpec()}) {
    TestJob job(spec);
    ASSERT_THAT(job.Ingest(testing::SkewedLengths(7, 3000, 1000)), IsOk());
    for (int i = 0; i < 3; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
    const JobState then = job.state();
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(job.Do(FormStep{}), IsOk());
      ASSERT_THAT(job.Do(Calibrated(spec)), IsOk());
      ASSERT_THAT(job.Do(Calibrated(spec)), IsOk()) << "twice before one step";
    }
    ASSERT_THAT(job.Do(Acknowledge{0, 1, 0}), IsOk());
    // The step under the first costs, and those under the others.
    ASSERT_THAT(job.Do(RewindJob{3, {}, {}}), IsOk());
    EXPECT_EQ(job.state().spec, then.spec);
    EXPECT_EQ(job.state().waiting, then.waiting);
    EXPECT_EQ(job.state().position, then.position);
    EXPECT_EQ(job.state().epoch, 1U);
  }
}

TEST(CalibrateTest, TheJournalAloneGivesTheSameJob) {
  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(9, 2000, 1000)), IsOk());
  for (int i = 0; i < 8; ++i) {
    ASSERT_THAT(job.Do(FormStep{}), IsOk());
    if (i == 3) {
      ASSERT_THAT(job.Do(Calibrated(job.state().spec)), IsOk());
    }
  }
  std::vector<std::string> records;
  for (const Event& event : job.journal()) records.push_back(EncodeEvent(event));
  const absl::StatusOr<JobState> replayed = Replay("", 0, records);
  ASSERT_THAT(replayed, IsOk());
  EXPECT_EQ(*replayed, job.state());
  EXPECT_EQ(DecodeState(EncodeState(job.state())).value(), job.state());
}

TEST(CalibrateTest, RefusesATableThatIsNotForTheJob) {
  TestJob job(testing::QueueSpec());
  CalibrateCost command;
  command.workload = QuadraticWorkload(100, 1499, 4);
  EXPECT_THAT(job.Do(command), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("workload.max_tokens: 1499")));
  EXPECT_EQ(job.state().spec.description, "");
}

}  // namespace
}  // namespace evenpack
