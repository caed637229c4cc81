#include "server/core/engine/reconfigure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "server/core/engine/checkpoint.h"
#include "server/core/engine/passing_over.h"
#include "server/core/engine/state_codec.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

// A state differs from an earlier one by what arrived since; steps alone are undone.
struct StepByStep {
  TestJob job;
  std::vector<JobState> after;  // after[k]: before step k was decided
};

StepByStep RunWholeStream(const JobSpec& spec, uint64_t seed) {
  StepByStep run{TestJob(spec), {}};
  EXPECT_THAT(run.job.Ingest(testing::SkewedLengths(seed, 3000, 1000)), IsOk());
  EXPECT_THAT(run.job.End(), IsOk());
  do {
    run.after.push_back(run.job.state());
  } while (run.job.Do(FormStep{}).ok());
  return run;
}

TEST(WithdrawTest, GivesBackTheExactStateBeforeAnyStep) {
  std::vector<JobSpec> specs = {testing::QueueSpec(),
                                MakeSpec(PolicyKind::kOriginal, 4, 1000),
                                MakeSpec(PolicyKind::kFixedGreedy, 4, 1000)};
  specs[0].max_delay = 5;
  specs[1].policy.split_documents = true;
  specs[2].policy.window_batches = 4;
  for (const JobSpec& spec : specs) {
    const StepByStep run = RunWholeStream(spec, 11);
    ASSERT_GT(run.after.size(), 20U);
    JobState state = run.job.state();
    for (size_t k = run.after.size() - 1; k-- > 0;) {
      Withdraw(k, state);
      ASSERT_EQ(state, run.after[k]) << "step " << k;
    }
  }
}

TEST(WithdrawTest, SeveralStepsAtOnceAreTheSameAsOneByOne) {
  const StepByStep run = RunWholeStream(testing::QueueSpec(), 12);
  for (size_t k = 0; k + 1 < run.after.size(); k += 5) {
    JobState state = run.job.state();
    Withdraw(k, state);
    ASSERT_EQ(state, run.after[k]);
  }
}

TEST(WithdrawTest, UndoesReconfigurationsBetween) {
  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(13, 2000, 1000)), IsOk());
  for (int i = 0; i < 6; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobState before = job.state();
  Withdraw(4, before);
  JobSpec wider = testing::QueueSpec();
  wider.micro_batches = 6;
  wider.policy.queue_thresholds = {500};
  testing::ResolveCosts(wider);
  ASSERT_THAT(job.Do(UpdateJob{6, wider}), IsOk());
  for (int i = 0; i < 3; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobState state = job.state();
  Withdraw(4, state);
  EXPECT_EQ(state.epoch, 1U);
  state.epoch = before.epoch;  // an epoch is never used twice
  EXPECT_EQ(state, before);
}

TEST(UpdateTest, StepsBeforeFromStepStayAndTheRestIsFormedAnew) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(14, 3000, 1000);
  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  job.FormAll().IgnoreError();
  const std::vector<TestJob::Emitted> before = job.emitted();
  ASSERT_GT(before.size(), 12U);

  JobSpec wider = testing::QueueSpec();
  wider.micro_batches = 6;
  wider.data_parallel = 3;
  testing::ResolveCosts(wider);
  ASSERT_THAT(job.Do(UpdateJob{7, wider}), IsOk());
  EXPECT_EQ(job.state().epoch, 1U);
  EXPECT_EQ(job.state().position.next_step, 7U);
  EXPECT_EQ(job.state().position.digest, before[6].step.digest);
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.FormAll(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("drained")));
  for (size_t k = 0; k < 7; ++k) EXPECT_EQ(job.emitted()[k].step, before[k].step);
  EXPECT_EQ(job.emitted()[7].step.epoch, 1U);
  EXPECT_EQ(job.emitted()[7].step.micro_batches.size(), 6U);

  ExpectExactlyOnce(job, {lengths});
}

TEST(UpdateTest, EveryPolicyCanFollowEveryOther) {
  const PolicyKind kinds[] = {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                              PolicyKind::kWlb, PolicyKind::kBalanced};
  const std::vector<uint32_t> lengths = testing::SkewedLengths(15, 2000, 1000);
  for (const PolicyKind first : kinds) {
    for (const PolicyKind second : kinds) {
      JobSpec spec = testing::QueueSpec();
      spec.policy.kind = first;
      spec.policy.window_batches = 3;
      TestJob job(spec);
      ASSERT_THAT(job.Ingest(lengths), IsOk());
      for (int i = 0; i < 8; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
      JobSpec next = spec;
      next.policy.kind = second;
      ASSERT_THAT(job.Do(UpdateJob{7, next}), IsOk());
      ASSERT_THAT(job.End(), IsOk());
      job.FormAll().IgnoreError();
      ASSERT_TRUE(IsDrained(job.state()));
      ExpectExactlyOnce(job, {lengths});
    }
  }
}

TEST(UpdateTest, FromStepIsBetweenTheLastDurableAndTheNext) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest({10, 10, 10, 10, 10}), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(Acknowledge{0, 1}), IsOk());
  const JobSpec spec = job.state().spec;
  EXPECT_THAT(job.Do(UpdateJob{1, spec}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "from_step: 1 is not accepted; accepted: 2 to 5 (above the last "
                       "durable step, up to the next one)"));
  EXPECT_THAT(job.Do(UpdateJob{6, spec}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from_step: 6")));
  EXPECT_THAT(job.Do(UpdateJob{2, spec}), IsOk());
  EXPECT_EQ(job.state().position.next_step, 2U);
}

TEST(UpdateTest, StreamsAndMergeAreForLife) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  JobSpec spec = job.state().spec;
  spec.merge = MergeMode::kArrival;
  EXPECT_THAT(job.Do(UpdateJob{0, spec}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("merge: arrival is not accepted")));
  spec = job.state().spec;
  spec.streams.push_back({"b", 1});
  EXPECT_THAT(job.Do(UpdateJob{0, spec}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("streams")));
  spec = job.state().spec;
  spec.micro_batches = 0;
  EXPECT_THAT(job.Do(UpdateJob{0, spec}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("micro_batches")));
}

TEST(UpdateTest, IsRefusedWhereAWaitingDocumentWouldExceedTheNewBound) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.policy.queue_thresholds = {120};
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({130, 90}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec shorter = spec;
  shorter.max_length = 120;
  testing::ResolveCosts(shorter);
  EXPECT_THAT(job.Do(UpdateJob{1, shorter}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "sequence 0 of stream 'a', which waits, has 130 tokens and "
                       "max_length would be 120"));
  JobSpec padded = spec;
  padded.layout.pad_tokens_to = 128;
  EXPECT_THAT(job.Do(UpdateJob{1, padded}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "sequence 0 of stream 'a', which waits, has 130 tokens and "
                       "max_length would be 150, which with padding holds 128"));
  // Taken back to before the step, it waits in its stream's buffer.
  EXPECT_THAT(job.Do(UpdateJob{0, shorter}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("130 tokens")));
  shorter.split_overlong = true;
  EXPECT_THAT(job.Do(UpdateJob{0, shorter}), IsOk());
}

TEST(UpdateTest, IsRefusedWhereABufferedDocumentWouldBeCutInTooManyPieces) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100'000);
  spec.split_overlong = true;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({131'073}), IsOk());
  JobSpec shorter = spec;
  shorter.window = shorter.max_length = 2;
  testing::ResolveCosts(shorter);
  EXPECT_THAT(job.Do(UpdateJob{0, shorter}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "sequence 0 of stream 'a', which waits, has 131073 tokens and "
                       "max_length would be 2 in each of 65536 pieces"));
  shorter.window = shorter.max_length = 3;
  testing::ResolveCosts(shorter);
  EXPECT_THAT(job.Do(UpdateJob{0, shorter}), IsOk());
}

TEST(UpdateTest, IsRefusedWhereAWaitingDocumentIsOlderThanTheNewDelay) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.policy.queue_thresholds = {90};
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({95, 60, 50, 80, 80, 50}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec bounded = spec;
  bounded.max_delay = 0;
  EXPECT_THAT(job.Do(UpdateJob{2, bounded}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has a delay of 1 and max_delay would be 0")));
  bounded.max_delay = 1;
  EXPECT_THAT(job.Do(UpdateJob{2, bounded}), IsOk());
  // It is due at once: before anything else is admitted.
  ASSERT_THAT(job.Ingest({70, 70, 70}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(GreatestDelay(job), 1U);
}

TEST(UpdateTest, ADifferentDataParallelSizeKeepsTheDurableMark) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 6, 10);
  spec.data_parallel = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(60, 10)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(Acknowledge{0, 4}), IsOk());
  ASSERT_THAT(job.Do(Acknowledge{1, 2}), IsOk());
  spec.data_parallel = 3;
  ASSERT_THAT(job.Do(UpdateJob{5, spec}), IsOk());
  EXPECT_EQ(job.state().durable, (std::vector<uint64_t>{3, 3, 3}));
}

// The same shape after it and all its documents still there: byte for byte.
TEST(RewindTest, AJobGoesOnFromAnyKeptStepAsBefore) {
  std::vector<JobSpec> specs = {testing::QueueSpec(),
                                MakeSpec(PolicyKind::kFixedGreedy, 4, 1000)};
  specs[1].policy.window_batches = 4;
  for (JobSpec& spec : specs) {
    spec.retain_checkpoints = 3;
    TestJob job(spec);
    ASSERT_THAT(job.Ingest(testing::SkewedLengths(21, 2000, 1000)), IsOk());
    job.FormAll().IgnoreError();
    const std::vector<TestJob::Emitted> before = job.emitted();
    for (const uint64_t durable : {2U, 5U, 8U}) {
      ASSERT_THAT(job.Do(Acknowledge{0, durable}), IsOk());
    }
    uint64_t epoch = 0;
    for (const uint64_t from_step : {12U, 9U, 7U, 3U}) {
      ASSERT_THAT(job.Do(RewindJob{from_step, std::nullopt, {}}), IsOk());
      EXPECT_EQ(job.state().epoch, ++epoch);
      EXPECT_EQ(job.state().position.next_step, from_step);
      EXPECT_EQ(DurableSteps(job.state()), std::min<uint64_t>(from_step, 9));
      EXPECT_LE(job.state().checkpoints.back(), from_step);
      job.FormAll().IgnoreError();
      ASSERT_EQ(job.emitted().size(), before.size());
      for (size_t k = 0; k < before.size(); ++k) {
        EXPECT_EQ(job.emitted()[k].step.digest, before[k].step.digest);
      }
    }
    EXPECT_THAT(job.Do(RewindJob{2, std::nullopt, {}}),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("accepted: 3 to " + std::to_string(before.size()) +
                                   " (from the oldest checkpoint")));
    EXPECT_THAT(job.Do(RewindJob{before.size() + 1, std::nullopt, {}}),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from_step: ")));
  }
}

TEST(RewindTest, AMarkOfTheOldEpochIsRefused) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(8, 10)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(RewindJob{4, std::nullopt, {}}), IsOk());
  EXPECT_THAT(job.Do(Acknowledge{0, 5, 0}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step: 5")));
  job.FormAll().IgnoreError();
  EXPECT_THAT(job.Do(Acknowledge{0, 5, 0}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch: 0")));
  EXPECT_THAT(job.Do(Acknowledge{0, 5, 1}), IsOk());
}

TEST(RewindTest, TheSpecIsThatOfTheStepOrTheOneGiven) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(22, 3000, 1000);
  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  for (int i = 0; i < 6; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec wider = testing::QueueSpec();
  wider.micro_batches = 6;
  wider.data_parallel = 3;
  testing::ResolveCosts(wider);
  ASSERT_THAT(job.Do(UpdateJob{6, wider}), IsOk());
  for (int i = 0; i < 3; ++i) ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(RewindJob{7, std::nullopt, {}}), IsOk());
  EXPECT_EQ(job.state().spec, wider);
  // The first that was decided under it.
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(RewindJob{6, std::nullopt, {}}), IsOk());
  EXPECT_EQ(job.state().spec, wider);
  EXPECT_EQ(job.state().durable.size(), 3U);
  // It is yet to be decided.
  ASSERT_THAT(job.Do(RewindJob{6, std::nullopt, {}}), IsOk());
  EXPECT_EQ(job.state().spec, wider);
  ASSERT_THAT(job.Do(RewindJob{5, std::nullopt, {}}), IsOk());
  EXPECT_EQ(job.state().spec, testing::QueueSpec());
  ASSERT_THAT(job.Do(RewindJob{3, wider, {}}), IsOk());
  EXPECT_EQ(job.state().spec, wider);
  EXPECT_EQ(job.state().durable.size(), 3U);
  JobSpec other = wider;
  other.streams[0].name = "b";
  EXPECT_THAT(job.Do(RewindJob{3, other, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("streams")));
  ASSERT_THAT(job.End(), IsOk());
  job.FormAll().IgnoreError();
  ExpectExactlyOnce(job, {lengths});
}

TEST(RewindTest, IsRefusedWhereADocumentDoesNotFitTheSpecOfThen) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({90, 90, 90}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec longer = spec;
  longer.max_length = 400;
  testing::ResolveCosts(longer);
  ASSERT_THAT(job.Do(UpdateJob{1, longer}), IsOk());
  ASSERT_THAT(job.Ingest({300}), IsOk());
  EXPECT_THAT(job.Do(RewindJob{0, std::nullopt, {}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("sequence 3 of stream 'a', which waits, has 300")));
  EXPECT_THAT(job.Do(RewindJob{0, longer, {}}), IsOk());
  EXPECT_THAT(job.Do(RewindJob{0, spec, {{"a", 3, 1}}}), IsOk());
}

TEST(SkipTest, NoStepFromThereOnHasWhatIsSkipped) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(23, 3000, 1000);
  TestJob job(testing::QueueSpec());
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  job.FormAll().IgnoreError();
  const std::vector<TestJob::Emitted> before = job.emitted();
  const uint64_t first = before[9].step.micro_batches[0].documents[0].sequence;
  ASSERT_THAT(job.Do(SkipDocuments{8, {{"a", first, 40}, {"a", first + 40, 60}}}),
              IsOk());
  EXPECT_EQ(job.state().epoch, 1U);
  EXPECT_EQ(job.state().streams[0].skipped, (SequenceRanges{{first, first + 100}}));
  ASSERT_THAT(job.End(), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_TRUE(IsDrained(job.state()));
  ExpectExactlyOnce(job, {lengths});
  for (size_t k = 0; k < job.emitted().size(); ++k) {
    if (k < 8) {
      EXPECT_EQ(job.emitted()[k].step, before[k].step);
    }
    for (const MicroBatch& micro_batch : job.emitted()[k].step.micro_batches) {
      for (const Document& document : micro_batch.documents) {
        EXPECT_FALSE(k >= 8 && document.sequence >= first &&
                     document.sequence < first + 100);
      }
    }
  }
}

// Nobody need be told where no step is withdrawn.
TEST(SkipTest, WhatOnlyComesIsSkippedWithoutANewEpoch) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 10);
  spec.data_parallel = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(8, 10)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(Acknowledge{1, 2, 0}), IsOk());
  ASSERT_THAT(job.Do(SkipDocuments{4, {{"a", 10, 5}}}), IsOk());
  EXPECT_EQ(job.state().epoch, 0U);
  EXPECT_EQ(job.state().durable, (std::vector<uint64_t>{0, 3}));
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(10, 10)), IsOk());
  EXPECT_EQ(job.state().streams[0].next_sequence, 18U);
  EXPECT_EQ(job.state().streams[0].buffer.size(), 5U);
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(10, 10)), IsOk()) << "past a re-send";
  ASSERT_THAT(job.End(), IsOk());
  job.FormAll().IgnoreError();
  std::vector<uint64_t> sequences;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    for (const MicroBatch& micro_batch : emitted.step.micro_batches) {
      for (const Document& each : micro_batch.documents) {
        sequences.push_back(each.sequence);
      }
    }
  }
  EXPECT_EQ(sequences.size(), 23U);
  EXPECT_EQ(std::count(sequences.begin(), sequences.end(), 9U), 1);
  EXPECT_EQ(std::count(sequences.begin(), sequences.end(), 10U), 0);
  EXPECT_EQ(std::count(sequences.begin(), sequences.end(), 15U), 1);
}

// A job that stands still can be told of one range after another.
TEST(SkipTest, SkipsAtOneStepAreOneRecord) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(6, 10)), IsOk());
  job.FormAll().IgnoreError();
  const size_t before = job.state().history.size();
  for (uint64_t first = 10; first < 100; first += 2) {
    ASSERT_THAT(job.Do(SkipDocuments{6, {{"a", first, 1}}}), IsOk());
  }
  EXPECT_EQ(job.state().history.size(), before + 1);
  EXPECT_THAT(DecodeState(EncodeState(job.state())), IsOk());
  ASSERT_THAT(job.Do(RewindJob{4, std::nullopt, {}}), IsOk());
  EXPECT_EQ(job.state().position.next_step, 4U);
}

TEST(SkipTest, HoldsWhateverIsRewoundLater) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(12, 10)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(SkipDocuments{6, {{"a", 6, 2}}}), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(RewindJob{2, std::nullopt, {}}), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_EQ(job.emitted().size(), 10U);
  EXPECT_EQ(job.emitted()[5].step.micro_batches[0].documents[0].sequence, 5U);
  EXPECT_EQ(job.emitted()[6].step.micro_batches[0].documents[0].sequence, 8U);
  // A checkpoint of a step before it has it too.
  EXPECT_EQ(CheckpointAfter(job.state(), 3)->streams[0].buffer.size(), 6U);
}

TEST(SkipTest, ADocumentThatIsTooLongForAStepPasses) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 100));
  ASSERT_THAT(job.Ingest({500}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("lengths[0]: 500")));
  ASSERT_THAT(job.Do(SkipDocuments{0, {{"a", 0, 1}}}), IsOk());
  EXPECT_THAT(job.Ingest({500, 50}), IsOk());
  EXPECT_EQ(job.state().streams[0].buffer.size(), 1U);
}

TEST(SkipTest, BadRangesAreRefusedByName) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(5, 10)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(Acknowledge{0, 2, 0}), IsOk());
  const JobState before = job.state();
  EXPECT_THAT(job.Do(SkipDocuments{2, {{"a", 0, 1}}}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from_step: 2")));
  EXPECT_THAT(job.Do(SkipDocuments{3, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("skip: nothing")));
  const std::vector<DocumentRange> same(kMaxSkippedRanges + 1, {"a", 100, 1});
  EXPECT_THAT(job.Do(SkipDocuments{3, same}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("skip: 10001 ranges is not accepted; accepted: up to "
                                 "10000 at once")));
  EXPECT_EQ(job.state(), before);
}

}  // namespace
}  // namespace evenpack
