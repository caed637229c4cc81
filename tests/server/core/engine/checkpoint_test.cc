#include "server/core/engine/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/passing_over.h"
#include "server/core/engine/state_codec.h"
#include "tests/testing/spared_rounds.h"
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

constexpr uint32_t kShortWindow = 4096;

JobSpec Wlb(uint32_t data_parallel, uint32_t micro_batches) {
  JobSpec spec =
      MakeSpec(PolicyKind::kWlb, data_parallel * micro_batches, kShortWindow);
  spec.data_parallel = data_parallel;
  spec.policy.queue_thresholds = {kShortWindow / 4, kShortWindow / 2};
  return spec;
}

RestoreJob RestoreOf(const JobState& state, uint64_t step) {
  return {EncodeState(CheckpointAfter(state, step).value())};
}

JobState Restored(const RestoreJob& command) {
  JobState state;
  Apply(Decide(state, command).value(), state);
  return state;
}

// Two to a micro-batch, so that few documents make many steps.
std::vector<uint32_t> EvenLengths(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = testing::Draw(random, 1, kShortWindow);
  return lengths;
}

// Restored after every step of a run of 200, on an empty server and given what is still
// to come, a job decides the steps that it decided before.
TEST(CheckpointTest, AJobGoesOnFromEveryStepByteForByte) {
  for (const JobSpec& spec : {Wlb(1, 1), Wlb(2, 2), Wlb(4, 1)}) {
    const std::vector<uint32_t> first = EvenLengths(41, 440 * spec.micro_batches);
    const std::vector<uint32_t> second = EvenLengths(42, 60 * spec.micro_batches);
    TestJob job(spec);
    ASSERT_THAT(job.Ingest(first), IsOk());
    job.FormAll().IgnoreError();
    const JobState midway = job.state();
    ASSERT_THAT(job.Ingest(second), IsOk());
    ASSERT_THAT(job.End(), IsOk());
    job.FormAll().IgnoreError();
    ASSERT_TRUE(IsDrained(job.state()));
    ASSERT_GE(midway.position.next_step, 200U);
    for (uint64_t step = 0; step < midway.position.next_step; ++step) {
      if (testing::IsSpared(step)) continue;
      TestJob again(Restored(RestoreOf(midway, step)));
      again.FormAll().IgnoreError();
      ASSERT_THAT(again.Ingest(second), IsOk());
      ASSERT_THAT(again.End(), IsOk());
      again.FormAll().IgnoreError();
      EXPECT_TRUE(IsDrained(again.state()));
      EXPECT_EQ(again.state().position.digest, job.state().position.digest) << step;
      ASSERT_EQ(again.emitted().size(), job.emitted().size() - step - 1);
      for (size_t i = 0; i < again.emitted().size(); ++i) {
        EXPECT_EQ(again.emitted()[i].step, job.emitted()[step + 1 + i].step);
      }
    }
  }
}

TEST(CheckpointTest, StepsUpToItAreDurableAndLetGo) {
  TestJob job(Wlb(2, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(42, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const JobState state = CheckpointAfter(job.state(), 7).value();
  EXPECT_EQ(state.position.next_step, 8U);
  EXPECT_EQ(DurableSteps(state), 8U);
  EXPECT_TRUE(state.history.empty());
  EXPECT_EQ(state.position.digest, job.emitted()[7].step.digest);
  EXPECT_EQ(state.streams[0].next_sequence, job.state().streams[0].next_sequence);
  EXPECT_EQ(DecodeState(EncodeState(state)).value(), state);
  EXPECT_EQ(CheckpointAfter(state, 7).value(), state) << "of itself";
}

TEST(CheckpointTest, OneOfAnEarlierShapeHasThatShape) {
  TestJob job(Wlb(2, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(43, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(UpdateJob{10, Wlb(4, 2)}), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_EQ(CheckpointAfter(job.state(), 9)->spec.data_parallel, 2U);
  EXPECT_EQ(CheckpointAfter(job.state(), 9)->durable.size(), 2U);
  EXPECT_EQ(CheckpointAfter(job.state(), 10)->spec.data_parallel, 4U);
}

TEST(CheckpointTest, StepsThatAreNotThereAreRefused) {
  TestJob job(Wlb(1, 2));
  EXPECT_THAT(CheckpointAfter(job.state(), 0).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no step is")));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(44, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const uint64_t next = job.state().position.next_step;
  EXPECT_THAT(CheckpointAfter(job.state(), next).status(),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("accepted: 0 to " + std::to_string(next - 1))));
  const uint32_t kept = job.state().spec.retain_checkpoints;
  for (uint64_t step = 0; step < 3 * kept; ++step) {
    ASSERT_THAT(job.Do(Acknowledge{0, step}), IsOk());
  }
  const uint64_t oldest = job.state().checkpoints.front();
  ASSERT_GT(oldest, 0U);
  EXPECT_THAT(CheckpointAfter(job.state(), oldest - 1), IsOk());
  if (oldest > 1) {
    EXPECT_THAT(CheckpointAfter(job.state(), oldest - 2).status(),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(std::to_string(oldest - 1) + " to ")));
  }
}

TEST(CheckpointTest, BytesThatAreNoCheckpointAreRefused) {
  TestJob job(Wlb(1, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(45, 500, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const JobState empty;
  std::string checkpoint = RestoreOf(job.state(), 3).checkpoint;
  EXPECT_THAT(Decide(job.state(), RestoreJob{checkpoint}).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("exists")));
  EXPECT_THAT(Decide(empty, RestoreJob{EncodeState(job.state())}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checkpoint: ")));
  EXPECT_THAT(Decide(empty, RestoreJob{""}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "checkpoint: 0 bytes is not accepted; accepted: what "
                       "CheckpointJob returned"));
  for (size_t at = 0; at < checkpoint.size(); at += 7) {
    std::string damaged = checkpoint;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(Decide(empty, RestoreJob{damaged}).ok()) << at;
  }
}

// Whoever gives it may have made it.
TEST(CheckpointTest, OneBeyondWhatAJobMayHaveIsRefused) {
  JobSpec spec = Wlb(1, 2048);
  spec.context_parallel = 1024;
  const auto refused = [](const JobState& state) {
    return Decide(JobState(), RestoreJob{EncodeState(state)}).status();
  };
  EXPECT_THAT(refused(TestJob(spec).state()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("checkpoint: context_parallel: 1024 is not accepted; "
                                 "accepted: 1 to 512 with 2048 micro-batches")));
  JobState skipping = TestJob(Wlb(1, 2)).state();
  for (uint64_t i = 0; i <= kMaxSkippedRanges; ++i) {
    AddRange({2 * i, 2 * i + 1}, skipping.streams[0].skipped);
  }
  EXPECT_THAT(refused(skipping), StatusIs(absl::StatusCode::kResourceExhausted,
                                          HasSubstr("checkpoint: skip: the job")));
}

TEST(CheckpointTest, ARestoredJobIsReplayedFromItsRecord) {
  TestJob job(Wlb(1, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(46, 500, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const RestoreJob command = RestoreOf(job.state(), 3);
  const std::string record = EncodeEvent(Decide(JobState(), command).value());
  JobState state;
  Apply(DecodeEvent(record).value(), state);
  EXPECT_EQ(state, CheckpointAfter(job.state(), 3).value());
}

// Where the job still has the step, nothing has to be sent again.
TEST(CheckpointTest, ARewindToAStepThatIsKeptKeepsWhatWasAccepted) {
  JobSpec spec = Wlb(2, 2);
  spec.retain_checkpoints = 100;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(47, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const std::string checkpoint = RestoreOf(job.state(), 5).checkpoint;
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(48, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const std::vector<TestJob::Emitted> before = job.emitted();
  ASSERT_THAT(job.Do(RewindToCheckpoint{checkpoint, {}}), IsOk());
  EXPECT_EQ(job.state().position.next_step, 6U);
  EXPECT_EQ(job.state().epoch, 1U);
  EXPECT_EQ(job.state().streams[0].next_sequence, 4000U);
  job.FormAll().IgnoreError();
  EXPECT_EQ(job.state().position.digest, before.back().step.digest);
}

TEST(CheckpointTest, ARewindBeyondWhatIsKeptTakesAcceptedDocumentsBack) {
  const std::vector<uint32_t> more = testing::SkewedLengths(50, 2000, kShortWindow);
  TestJob job(Wlb(1, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(49, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const std::string checkpoint = RestoreOf(job.state(), 5).checkpoint;
  ASSERT_THAT(job.Ingest(more), IsOk());
  job.FormAll().IgnoreError();
  const std::vector<TestJob::Emitted> before = job.emitted();
  ASSERT_THAT(job.Do(Acknowledge{0, 20, 0}), IsOk());
  ASSERT_THAT(job.Do(RewindToCheckpoint{checkpoint, {}}), IsOk());
  EXPECT_EQ(job.state().position.next_step, 6U);
  EXPECT_EQ(job.state().epoch, 1U);
  EXPECT_EQ(DurableSteps(job.state()), 6U);
  EXPECT_EQ(job.state().streams[0].next_sequence, 2000U);
  ASSERT_THAT(job.Ingest(more), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_EQ(job.state().position.digest, before.back().step.digest);
  EXPECT_EQ(job.emitted().back().step.epoch, 1U);
}

TEST(CheckpointTest, ARewindToACheckpointKeepsWhatTheJobSkips) {
  TestJob job(Wlb(1, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(51, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  const std::string checkpoint = RestoreOf(job.state(), 5).checkpoint;
  ASSERT_THAT(job.Do(Acknowledge{0, 20, 0}), IsOk());
  ASSERT_THAT(job.Do(SkipDocuments{30, {{"a", 1500, 100}}}), IsOk());
  ASSERT_THAT(job.Do(RewindToCheckpoint{checkpoint, {{"a", 1600, 50}}}), IsOk());
  EXPECT_EQ(job.state().streams[0].skipped, (SequenceRanges{{1500, 1650}}));
  EXPECT_THAT(DecodeState(EncodeState(job.state())), IsOk());
}

// Whether the job still has the step or not.
TEST(CheckpointTest, ARewindToACheckpointTakesWhatThatSkips) {
  for (const uint64_t durable : {0U, 20U}) {
    TestJob job(Wlb(1, 2));
    ASSERT_THAT(job.Ingest(testing::SkewedLengths(53, 2000, kShortWindow)), IsOk());
    job.FormAll().IgnoreError();
    JobState then = CheckpointAfter(job.state(), 5).value();
    then.streams[0].skipped = {{2990, 2995}};
    if (durable > 0) {
      ASSERT_THAT(job.Do(Acknowledge{0, durable, 0}), IsOk());
    }
    ASSERT_THAT(job.Do(RewindToCheckpoint{EncodeState(then), {{"a", 2980, 2}}}),
                IsOk());
    EXPECT_EQ(job.state().position.next_step, 6U);
    EXPECT_EQ(job.state().streams[0].skipped,
              (SequenceRanges{{2980, 2982}, {2990, 2995}}));
  }
}

// A command has no more than those, and they are not of this one.
TEST(CheckpointTest, RangesThatTheJobSkipsAlreadyDoNotCount) {
  TestJob job(Wlb(1, 2));
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(54, 2000, kShortWindow)), IsOk());
  job.FormAll().IgnoreError();
  SkipDocuments most = {30, {}};
  for (size_t i = 0; i < kMaxSkippedRanges; ++i) {
    most.skip.push_back({"a", 10'000 + 2 * i, 1});
  }
  ASSERT_THAT(job.Do(most), IsOk());
  const std::string checkpoint = RestoreOf(job.state(), 5).checkpoint;
  EXPECT_THAT(job.Do(RewindToCheckpoint{checkpoint, {{"a", 10'000, 1}}}), IsOk());
}

TEST(CheckpointTest, RangesOfTwoJobsTogetherAreNotMoreThanAJobCanHave) {
  const auto skip_every_other = [](TestJob& job, uint64_t first) {
    ASSERT_THAT(job.Ingest(testing::SkewedLengths(54, 2000, kShortWindow)), IsOk());
    job.FormAll().IgnoreError();
    SkipDocuments most = {job.state().position.next_step, {}};
    for (size_t i = 0; i < kMaxSkippedRanges; ++i) {
      most.skip.push_back({"a", first + 4 * i, 1});
    }
    ASSERT_THAT(job.Do(most), IsOk());
  };
  TestJob job(Wlb(1, 2));
  skip_every_other(job, 10'000);
  TestJob other(Wlb(1, 2));
  ASSERT_THAT(other.Ingest(testing::SkewedLengths(55, 20, kShortWindow)), IsOk());
  skip_every_other(other, 10'002);
  const std::string checkpoint =
      RestoreOf(other.state(), other.state().position.next_step - 1).checkpoint;
  EXPECT_THAT(job.Do(RewindToCheckpoint{checkpoint, {}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the job would have more than 10000")));
}

TEST(CheckpointTest, ARewindToAnotherJobsCheckpointIsRefused) {
  TestJob job(Wlb(1, 2));
  JobSpec spec = Wlb(1, 2);
  spec.streams[0].name = "b";
  TestJob other(spec);
  ASSERT_THAT(other.Ingest(testing::SkewedLengths(52, 500, kShortWindow), "b"), IsOk());
  other.FormAll().IgnoreError();
  const std::string checkpoint = RestoreOf(other.state(), 1).checkpoint;
  EXPECT_THAT(
      job.Do(RewindToCheckpoint{checkpoint, {}}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("checkpoint: ")));
  EXPECT_THAT(other.Do(RewindToCheckpoint{checkpoint.substr(1), {}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checkpoint: state")));
}

TEST(CheckpointTest, ARewindToACheckpointOfAnotherLineageIsRefused) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(52, 500, kShortWindow);
  TestJob job(Wlb(1, 2), 7);
  TestJob toy(Wlb(1, 2), 8);
  for (TestJob* const each : {&job, &toy}) {
    ASSERT_THAT(each->Ingest(lengths), IsOk());
    each->FormAll().IgnoreError();
  }
  // As alike as two jobs can be.
  const std::string checkpoint = RestoreOf(toy.state(), 1).checkpoint;
  const JobState before = job.state();
  EXPECT_THAT(job.Do(RewindToCheckpoint{checkpoint, {}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("checkpoint: it is of another job")));
  EXPECT_EQ(job.state(), before);
  // What it was restored from is of its own.
  TestJob restored(Restored({checkpoint}));
  EXPECT_EQ(restored.state().lineage, 8);
  EXPECT_THAT(restored.Do(RewindToCheckpoint{checkpoint, {}}), IsOk());
  EXPECT_THAT(toy.Do(RewindToCheckpoint{checkpoint, {}}), IsOk());
}

TEST(CheckpointTest, OneThatADocumentAcceptedSinceDoesNotFitIsRefused) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({90, 90, 90}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec longer = MakeSpec(PolicyKind::kWlb, 2, 100);
  longer.max_length = 400;
  testing::ResolveCosts(longer);
  ASSERT_THAT(job.Do(UpdateJob{1, longer}), IsOk());
  ASSERT_THAT(job.Ingest({300}), IsOk());
  EXPECT_THAT(CheckpointAfter(job.state(), 0).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("300 tokens")));
}

}  // namespace
}  // namespace evenpack
