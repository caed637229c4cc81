// A job of which it is not known for a while whether a commit stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/control/job.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/emitted_documents.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::DoRemove;
using testing::DoUpdate;
using testing::Draw;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::Open;
using testing::OutlierJob;
using testing::RandomLengths;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;
using testing::TokensOf;

using Steps = std::vector<std::shared_ptr<const PublishedStep>>;

// As who goes on behind that step.
SubscribeRequest Behind(const PublishedStep& step) {
  SubscribeRequest request;
  request.from_step = step.step.index + 1;
  request.last_digest = step.step.digest;
  request.last_epoch = step.step.epoch;
  return request;
}

// A job of three steps.
class JobInDoubtTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
    last_ = *job_->FindStep(2);
  }
  static void ExpectStoreFailed(const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("store: ")));
    EXPECT_EQ(DetailOf(status).reason, "STORE_FAILED");
  }
  // A fourth step, of which nothing is known until the store is back.
  void DecideInDoubt(bool stands) {
    room_.store().GoAway(/*after_a_commit=*/stands);
    ExpectStoreFailed(DoIngest(*job_, 24, StepsOfDocuments(1)));
  }

  ControlRoom room_{/*commit_waits=*/GetParam()};
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
  std::shared_ptr<const PublishedStep> last_;
};

TEST_P(JobInDoubtTest, ACommitThatStandsIsShownOnceTheStoreIsBack) {
  DecideInDoubt(true);
  ExpectStoreFailed(Describe(*job_).status());
  ExpectStoreFailed(Follower(job_, Behind(*last_)).status());
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_EQ(Describe(*job_)->next_step, 4U);
  Follower follower(job_, Behind(*last_));
  ASSERT_THAT(follower.status(), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 3U);
  // What its producer sends again is known, and what follows makes a step.
  EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(2)), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 4U);
  EXPECT_EQ(Describe(*room_.RecoverJob())->digest, Describe(*job_)->digest);
}

TEST_P(JobInDoubtTest, OneThatDoesNotStandNeverWas) {
  DecideInDoubt(false);
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
  Follower follower(job_, Behind(*last_));
  EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 3U);
}

TEST_P(JobInDoubtTest, WhoFollowsItGetsWhatIsCommittedAndIsThenSentAway) {
  SubscribeRequest slow;
  slow.subscriber = "slow";
  Follower behind(job_, slow);
  Follower waiting(job_, Behind(*last_));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(waiting.Next()));
  DecideInDoubt(true);
  ExpectStoreFailed(waiting.TakeEnd());
  for (uint64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(behind.TakeStep()->step.index, step);
  }
  ExpectStoreFailed(behind.TakeEnd());
}

TEST_P(JobInDoubtTest, AnUpdateThatStandsEndsTheEpochOnceTheStoreIsBack) {
  JobSpec spec = SmallJob();
  spec.data_parallel = 1;
  room_.store().GoAway(/*after_a_commit=*/true);
  ExpectStoreFailed(DoUpdate(*job_, spec, 1));
  SubscribeRequest request = Behind(**job_->FindStep(0));
  request.epoch = 0;
  Follower follower(job_, request);
  EXPECT_EQ(follower.TakeStep()->step.epoch, 0U);
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_EQ(Describe(*job_)->epoch, 1U);
  ExpectStoreFailed(follower.TakeEnd());
  EXPECT_EQ(DetailOf(Follower(job_, request).status()).reason, "EPOCH_ENDED");
  EXPECT_EQ((*job_->FindStep(1))->step.epoch, 1U);
}

TEST_P(JobInDoubtTest, ObserversSeeNoStepThatAnUpdateWithdrewThatStands) {
  JobSpec spec = SmallJob();
  spec.data_parallel = 1;
  room_.store().GoAway(/*after_a_commit=*/true);
  ExpectStoreFailed(DoUpdate(*job_, spec, 1));
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  const Awaited<absl::StatusOr<JobObservation>> observed;
  job_->Observe({.steps = 10}, observed);
  const absl::StatusOr<JobObservation> seen = observed.Get();
  ASSERT_THAT(seen, IsOk());
  for (const auto& step : seen->recorded.steps) {
    EXPECT_EQ(step->epoch, (*job_->FindStep(step->index))->step.epoch) << step->index;
  }
}

TEST_P(JobInDoubtTest, ProducersAskWhereTheirStreamsAreOnceItStands) {
  const Awaited<absl::Status> ended;
  job_->AddProducer(ended);
  DecideInDoubt(true);
  EXPECT_FALSE(ended.IsSet());
  room_.store().ComeBack();
  EXPECT_EQ(Open(*job_)->next_sequence, 32U);
  EXPECT_THAT(ended.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the stream again")));
}

TEST_P(JobInDoubtTest, AMarkThatStandsCounts) {
  room_.store().GoAway(/*after_a_commit=*/true);
  ExpectStoreFailed(Do(*job_, Acknowledge{0, 1, 0}));
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_EQ(Describe(*job_)->durable_steps_per_rank[0], 2U);
  EXPECT_EQ(*job_->DurableStepsOf(0), 2U);
}

TEST_P(JobInDoubtTest, ARemovalThatStandsIsOne) {
  room_.store().GoAway(/*after_a_commit=*/true);
  ExpectStoreFailed(DoRemove(*job_));
  room_.store().ComeBack();
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_THAT(Describe(*job_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

// A rank that comes back behind its last step whenever its call ends.
class StubbornFollower {
 public:
  explicit StubbornFollower(std::shared_ptr<Job> job) : job_(std::move(job)) {}

  // Until the job has no more for it now; `last`: until it says that it is drained.
  void Take(bool last) {
    while (!TakeOnCall(last)) {
    }
  }
  const Steps& steps() const { return steps_; }

 private:
  bool TakeOnCall(bool last) {
    Follower follower(job_,
                      steps_.empty() ? SubscribeRequest() : Behind(*steps_.back()));
    EXPECT_THAT(follower.status(), IsOk());
    while (true) {
      const NextMessage next = last ? follower.Take() : follower.Next();
      if (const auto* step = std::get_if<SendStep>(&next)) {
        EXPECT_THAT(follower.Received(step->step->step.index), IsOk());
        steps_.push_back(step->step);
      } else if (std::holds_alternative<EndCall>(next)) {
        return false;
      } else {
        return true;
      }
    }
  }

  const std::shared_ptr<Job> job_;
  Steps steps_;
};

// Batches under way at a time, of which the store may lose an answer; then it is back.
void SendSome(ControlRoom& room, Job& job, const std::vector<uint32_t>& lengths,
              std::mt19937_64& random) {
  uint64_t next = Open(job)->next_sequence;
  if (Draw(random, 0, 2) == 0) room.store().GoAway(Draw(random, 0, 1) == 1);
  std::vector<Awaited<absl::Status>> answers;
  while (next < lengths.size() && answers.size() < 4) {
    const uint64_t count =
        std::min<uint64_t>(Draw(random, 1, 20), lengths.size() - next);
    Ingest batch;
    batch.stream = "a";
    batch.first_sequence = next;
    batch.lengths.assign(lengths.begin() + static_cast<ptrdiff_t>(next),
                         lengths.begin() + static_cast<ptrdiff_t>(next + count));
    job.Submit(std::move(batch), answers.emplace_back());
    next += count;
  }
  for (const auto& answer : answers) answer.Get().IgnoreError();
  room.store().ComeBack();
}

TEST_P(JobInDoubtTest, EachDocumentIsEmittedOnceInTheStepsOfARunWithoutDoubt) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<uint32_t> lengths = RandomLengths(seed, 1000);
    testing::TestJob faultless(OutlierJob());
    faultless.Run(lengths, seed);

    ControlRoom room(/*commit_waits=*/GetParam());
    const auto job = room.MakeJob(OutlierJob());
    StubbornFollower follower(job);
    std::mt19937_64 random(seed);
    while (Open(*job)->next_sequence < lengths.size()) {
      SendSome(room, *job, lengths, random);
      follower.Take(/*last=*/false);
    }
    ASSERT_THAT(Do(*job, EndOfStream{"a", lengths.size()}), IsOk());
    follower.Take(/*last=*/true);
    EXPECT_EQ(TokensOf(follower.steps()), TokensOf({lengths}));
    EXPECT_EQ(follower.steps().back()->step.digest, faultless.state().position.digest);
    EXPECT_EQ(Describe(*room.RecoverJob())->digest, Describe(*job)->digest);
  }
}

INSTANTIATE_TEST_SUITE_P(CommitWaits, JobInDoubtTest, ::testing::Bool());

}  // namespace
}  // namespace evenpack
