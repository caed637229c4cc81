#include "gpu_worker/sidecar/worker_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu_worker/arena/submission_writer.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::PretendedJob;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

SessionResources OnTheHost() { return {OnProcessor(1).value(), 1 << 16}; }

// A rank and its trainer.
class Pair {
 public:
  Pair(PretendedJob& job, uint32_t cp_rank)
      : arena_(std::make_shared<Arena>(*Arena::Create(1 << 16))),
        trainers_(*Arena::Open(FileDescriptor(dup(arena_->descriptor())))),
        writer_(trainers_, [] { return false; }) {
    RankWorkerOptions options;
    options.steps.job = "job";
    options.steps.cp_rank = cp_rank;
    options.steps.from_step = 1;
    options.member = absl::StrCat("m", cp_rank);
    client::Client client = job.client();
    auto session = WorkerSession::Open(client, options, arena_, OnTheHost(), {});
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
  }

  uint64_t Submit(SubmissionKind kind, uint64_t step) {
    Submission submission;
    submission.kind = kind;
    submission.step = step;
    return *writer_.Submit(submission);
  }
  absl::Status Wait() { return writer_.Wait(writer_.submitted()); }
  WorkerSession& session() { return *session_; }
  void End() { session_.reset(); }

 private:
  const std::shared_ptr<Arena> arena_;
  const Arena trainers_;
  SubmissionWriter writer_;
  std::unique_ptr<WorkerSession> session_;
};

TEST(WorkerSessionTest, ExecutesTheJobsStepsFromTheFirstThatIsWanted) {
  PretendedJob job(4);
  Pair a(job, 0);
  Pair b(job, 1);
  EXPECT_EQ(a.session().cp_size(), 2U);
  for (uint64_t step = 1; step < 4; ++step) {
    for (Pair* pair : {&a, &b}) {
      pair->Submit(SubmissionKind::kBeginStep, step);
      pair->Submit(SubmissionKind::kEndStep, step);
    }
    EXPECT_THAT(a.Wait(), IsOk());
    EXPECT_THAT(b.Wait(), IsOk());
  }
  EXPECT_EQ(a.session().progress().step, 3U);
  EXPECT_EQ(b.session().progress().submissions, 6U);
  const RankFigures figures = a.session().figures();
  EXPECT_EQ(figures.work.steps, 3U);
  EXPECT_EQ(figures.work.micro_batches, 0U) << "no pass was asked for";
  EXPECT_EQ(figures.prepared_steps, 0U);
  EXPECT_EQ(figures.group.epoch, 1U);
  EXPECT_TRUE(figures.group.connected);
  EXPECT_EQ(figures.group.losses, 0U);
  a.Submit(SubmissionKind::kBeginStep, 4);
  EXPECT_THAT(a.Wait(), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("drained")));
}

// Its micro-batches are those of the step, by their index in it.
TEST(WorkerSessionTest, KnowsTheMicroBatchesOfItsSteps) {
  PretendedJob job(4);
  Pair a(job, 0);
  Pair b(job, 1);
  for (Pair* pair : {&a, &b}) pair->Submit(SubmissionKind::kBeginStep, 1);
  EXPECT_THAT(a.Wait(), IsOk());
  EXPECT_THAT(b.Wait(), IsOk());
  a.Submit(SubmissionKind::kForward, 1);
  const uint64_t rows = job.Step(1).micro_batches()[0].rank_tokens()[0] +
                        job.Step(1).micro_batches()[0].rank_padding()[0];
  ASSERT_GT(rows, 0U);
  EXPECT_THAT(a.Wait(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr(absl::StrCat("accepted: ", rows))));
}

TEST(WorkerSessionTest, ItsEndDoesNotWaitForPeersThatNeverCome) {
  PretendedJob job(4);
  Pair alone(job, 0);
  alone.Submit(SubmissionKind::kBeginStep, 1);
  alone.End();
  EXPECT_THAT(alone.Wait(), StatusIs(absl::StatusCode::kUnavailable,
                                     ::testing::HasSubstr("has ended the session")));
}

TEST(WorkerSessionTest, ReportsWhatItMeasuredWhenItIsClosed) {
  PretendedJob job(4);
  Pair alone(job, 0);
  alone.session().Close();
  EXPECT_EQ(job.closed(), 1);
  alone.End();
  EXPECT_EQ(job.closed(), 1);
}

TEST(WorkerSessionTest, AJobThatIsNotThereIsRefused) {
  PretendedJob job(1);
  RankWorkerOptions options;
  options.steps.job = "other";
  options.steps.cp_rank = 0;
  options.member = "m";
  client::Client client = job.client();
  EXPECT_THAT(
      WorkerSession::Open(client, options, std::make_shared<Arena>(*Arena::Create(64)),
                          OnTheHost(), {}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("job")));
}

}  // namespace
}  // namespace evenpack::worker
