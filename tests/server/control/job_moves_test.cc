#include "server/control/job_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/core/engine/event_codec.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/follower.h"
#include "tests/testing/shared_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SharedMemory;
using testing::SharedServer;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

std::string ReasonOf(const absl::Status& status) { return DetailOf(status).reason; }

Ingest StepsFrom(uint64_t first_sequence, size_t steps) {
  Ingest ingest;
  ingest.stream = "a";
  ingest.first_sequence = first_sequence;
  ingest.lengths = StepsOfDocuments(steps);
  return ingest;
}

struct Doorbell final : Subscriber {
  void Wake() override { woken = true; }
  std::atomic<bool> woken = false;
};

class JobMovesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(one_.Create("job"), IsOk()); }

  static std::shared_ptr<Job> JobOf(SharedServer& server) {
    return server.jobs().Find("job").value();
  }
  static uint64_t AcceptedBy(SharedServer& server) {
    return Describe(*JobOf(server))->streams[0].next_sequence;
  }
  void Move(SharedServer& to) {
    memory_.Move("job", &to.store());
    one_.Settle();
    two_.Settle();
  }

  SharedMemory memory_;
  SharedServer one_{memory_, "one:1"};
  SharedServer two_{memory_, "two:2"};
};

TEST_F(JobMovesTest, AJobThatIsTakenIsAsItWasCommitted) {
  ASSERT_THAT(Do(*JobOf(one_), StepsFrom(0, 3)), IsOk());
  const Digest128 digest = Describe(*JobOf(one_))->digest;
  Move(two_);
  EXPECT_FALSE(one_.jobs().Find("job").ok());
  EXPECT_EQ(AcceptedBy(two_), 24U);
  EXPECT_EQ(Describe(*JobOf(two_))->digest, digest);
  EXPECT_THAT(Do(*JobOf(two_), StepsFrom(24, 1)), IsOk());
  EXPECT_EQ(one_.moves().Figures().lost, 1U);
  EXPECT_EQ(two_.moves().Figures().taken, 1U);
}

TEST_F(JobMovesTest, ALostJobsCallsEndAndNothingOfItIsDecidedAnyMore) {
  const std::shared_ptr<Job> job = JobOf(one_);
  Follower follower(job);
  bool producer_ended = false;
  job->AddProducer([&producer_ended](const absl::Status&) { producer_ended = true; });
  Move(two_);
  EXPECT_EQ(ReasonOf(follower.TakeEnd()), "JOB_NOT_FOUND");
  EXPECT_TRUE(producer_ended);
  EXPECT_EQ(ReasonOf(DoIngest(*job, 0, {10})), "JOB_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Describe(*job).status()), "JOB_NOT_FOUND");
  EXPECT_EQ(ReasonOf(one_.WhereIs("job")), kLedElsewhere);
}

TEST_F(JobMovesTest, WhatWasUnderWayWhenAJobWasLostIsNeverCommitted) {
  const std::shared_ptr<Job> job = JobOf(one_);
  one_.room().store().Block();
  const Awaited<absl::Status> under_way;
  job->Submit(StepsFrom(0, 1), under_way);
  one_.room().store().WaitUntilBlocked();
  const Awaited<absl::Status> queued;
  job->Submit(StepsFrom(8, 1), queued);
  memory_.Move("job", &two_.store());
  // And comes back under the same name, before the store goes on.
  memory_.Move("job", &one_.store());
  one_.room().store().Release();
  // That under way may have been in time.
  const bool in_time = under_way.Get().ok();
  EXPECT_EQ(ReasonOf(queued.Get()), "JOB_NOT_FOUND");
  one_.Settle();
  EXPECT_NE(JobOf(one_), job);
  EXPECT_EQ(AcceptedBy(one_), in_time ? 8U : 0U);
  EXPECT_THAT(Do(*JobOf(one_), StepsFrom(in_time ? 8 : 0, 2)), IsOk());
}

TEST_F(JobMovesTest, TheStoreIsToldOfAJobOfALaterVersionAndOfNoOther) {
  JobSpec spec = SmallJob();
  spec.policy.version = kPolicyVersion + 1;
  const std::vector<StoreWrite> newer = {
      AppendRecord{"newer", 0, EncodeEvent(JobCreated{spec})},
      AppendRecord{"damaged", 0, "x"}};
  ASSERT_THAT(one_.store().Commit(newer), IsOk());
  for (const char* const job : {"newer", "damaged", "job"}) {
    memory_.Move(job, &two_.store());
  }
  two_.Settle();
  EXPECT_THAT(two_.store().unreadable(), ElementsAre("newer"));
  // It can be given as any other.
  memory_.AskToGive("newer");
  two_.Settle();
  EXPECT_EQ(ReasonOf(two_.WhereIs("newer")), kLedElsewhere);
}

TEST_F(JobMovesTest, NobodyWaitsAtAServerThatIsCutOff) {
  const std::shared_ptr<Job> job = JobOf(one_);
  ASSERT_THAT(Do(*job, StepsFrom(0, 2)), IsOk());
  SubscribeRequest behind;
  behind.from_step = 1;
  behind.last_digest = (*job->FindStep(0))->step.digest;
  SubscribeRequest ahead = behind;
  ahead.from_step = 2;
  ahead.last_digest = (*job->FindStep(1))->step.digest;
  Follower waiting(job);
  EXPECT_EQ(waiting.TakeStep()->step.index, 0U);
  absl::Status producer;
  job->AddProducer([&producer](const absl::Status& end) { producer = end; });
  one_.store().SetCutOff(true);
  one_.Settle();
  // What is committed comes first.
  EXPECT_EQ(waiting.TakeStep()->step.index, 1U);
  EXPECT_EQ(ReasonOf(waiting.TakeEnd()), kStoreFailed);
  EXPECT_EQ(ReasonOf(producer), kStoreFailed);
  EXPECT_EQ(ReasonOf(testing::Open(*job).status()), kStoreFailed);
  EXPECT_EQ(ReasonOf(Follower(job, ahead).status()), kStoreFailed);
  EXPECT_EQ(ReasonOf(job->FindStep(2).status()), kStoreFailed);
  EXPECT_THAT(job->FindStep(1), IsOk());
  Follower late(job, behind);
  ASSERT_THAT(late.status(), IsOk());
  EXPECT_EQ(late.TakeStep()->step.index, 1U);
  EXPECT_EQ(ReasonOf(late.TakeEnd()), kStoreFailed);
  one_.store().SetCutOff(false);
  Follower back(job, ahead);
  ASSERT_THAT(back.status(), IsOk());
  ASSERT_THAT(testing::Open(*job), IsOk());
  ASSERT_THAT(Do(*job, StepsFrom(16, 1)), IsOk());
  EXPECT_EQ(back.TakeStep()->step.index, 2U);
}

TEST_F(JobMovesTest, NothingIsToldThatTheNextLeaderMayHaveChanged) {
  const std::shared_ptr<Job> job = JobOf(one_);
  ASSERT_THAT(Do(*job, StepsFrom(0, 2)), IsOk());
  const auto checkpoint = [&job] {
    const Awaited<absl::StatusOr<JobCheckpoint>> taken;
    job->Checkpoint(0, taken);
    return taken.Get().status();
  };
  const auto observe = [&job] {
    const Awaited<absl::StatusOr<JobObservation>> observed;
    job->Observe({}, observed);
    return observed.Get().status();
  };
  EXPECT_THAT(checkpoint(), IsOk());
  EXPECT_THAT(observe(), IsOk());
  // Long before it is told that it is cut off.
  one_.store().SetSure(false);
  EXPECT_THAT(Describe(*job).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("another server may lead the job by now")));
  EXPECT_EQ(ReasonOf(Describe(*job).status()), kStoreFailed);
  EXPECT_EQ(ReasonOf(checkpoint()), kStoreFailed);
  EXPECT_EQ(ReasonOf(observe()), kStoreFailed);
  // A step is what it was, whoever leads the job.
  EXPECT_THAT(job->FindStep(1), IsOk());
  one_.store().SetSure(true);
  EXPECT_THAT(Describe(*job).status(), IsOk());
}

TEST_F(JobMovesTest, NorDoesWhoComesWhileItIsCutOff) {
  const std::shared_ptr<Job> job = JobOf(one_);
  ASSERT_THAT(Do(*job, StepsFrom(0, 1)), IsOk());
  SubscribeRequest ahead;
  ahead.from_step = 1;
  ahead.last_digest = (*job->FindStep(0))->step.digest;
  // Those who wait were told before this one did.
  one_.store().CutOffBehindNextLook();
  Follower late(job, ahead);
  ASSERT_THAT(late.status(), IsOk());
  EXPECT_EQ(ReasonOf(late.TakeEnd()), kStoreFailed);
}

TEST_F(JobMovesTest, NorDoesAMemberOfAGroupWhosePeersMayBeElsewhere) {
  const std::shared_ptr<Job> job = JobOf(one_);
  GroupTable& groups = job->groups();
  const GroupSeat seat = {0, 2, 0, "a"};
  const GroupSeat peers = {0, 2, 1, "b"};
  const auto call = std::make_shared<Doorbell>();
  const auto peers_call = std::make_shared<Doorbell>();
  ASSERT_THAT(groups.Join(seat, {"h:1"}, call), IsOk());
  one_.store().SetCutOff(true);
  one_.Settle();
  EXPECT_EQ(ReasonOf(groups.Next(seat, *call).status()), kStoreFailed);
  EXPECT_TRUE(call->woken);
  groups.Leave(seat, *call);
  // Where all are here they need nobody else.
  ASSERT_THAT(groups.Join(seat, {"h:1"}, call), IsOk());
  ASSERT_THAT(groups.Join(peers, {"h:2"}, peers_call), IsOk());
  one_.store().SetCutOff(true);
  one_.Settle();
  EXPECT_THAT(groups.Next(seat, *call), IsOk());
  // One that comes alone, or is left alone, waits until that is told anew.
  groups.Leave(peers, *peers_call);
  EXPECT_THAT(groups.Next(seat, *call), IsOk());
  one_.store().SetCutOff(true);
  one_.Settle();
  EXPECT_EQ(ReasonOf(groups.Next(seat, *call).status()), kStoreFailed);
  groups.Leave(seat, *call);
}

TEST_F(JobMovesTest, ACommitThatTheFenceRefusesIsOfAJobThatIsNotHere) {
  const std::shared_ptr<Job> job = JobOf(one_);
  one_.room().store().Block();
  const Awaited<absl::Status> done;
  job->Submit(StepsFrom(0, 1), done);
  one_.room().store().WaitUntilBlocked();
  memory_.Move("job", &two_.store());
  one_.room().store().Release();
  EXPECT_EQ(ReasonOf(done.Get()), "JOB_NOT_FOUND");
  one_.Settle();
  two_.Settle();
  EXPECT_EQ(AcceptedBy(two_), 0U);
}

// It may stand, and who is sent on to the new leader makes it again there.
TEST_F(JobMovesTest, ACommitInDoubtIsToldSoThoughTheJobHasMoved) {
  const std::shared_ptr<Job> job = JobOf(one_);
  one_.room().store().Block();
  const Awaited<absl::Status> done;
  job->Submit(StepsFrom(0, 1), done);
  one_.room().store().WaitUntilBlocked();
  one_.room().store().LoseAnswer();
  job->Abandon();
  one_.room().store().Release();
  EXPECT_EQ(DetailOf(done.Get()),
            (StatusDetail{kStoreFailed, {{"outcome", "unknown"}}}));
}

TEST_F(JobMovesTest, AHandOverLosesNothing) {
  const std::shared_ptr<Job> job = JobOf(one_);
  one_.room().store().Block();
  const Awaited<absl::Status> under_way;
  job->Submit(StepsFrom(0, 2), under_way);
  one_.room().store().WaitUntilBlocked();
  memory_.AskToGive("job");
  one_.room().store().Release();
  EXPECT_THAT(under_way.Get(), IsOk());
  one_.Settle();
  two_.Settle();
  EXPECT_EQ(AcceptedBy(two_), 16U);
  EXPECT_EQ(ReasonOf(one_.WhereIs("job")), kLedElsewhere);
  EXPECT_EQ(one_.moves().Figures().handed_over, 1U);
  EXPECT_EQ(one_.moves().Figures().lost, 0U);
}

TEST_F(JobMovesTest, AJobThatCannotBeHandedOverGoesOn) {
  const std::shared_ptr<Job> job = JobOf(one_);
  Follower follower(job);
  ASSERT_THAT(two_.store().Leave(), IsOk());
  memory_.AskToGive("job");
  one_.Settle();
  EXPECT_EQ(JobOf(one_), job);
  EXPECT_THAT(Do(*job, StepsFrom(0, 1)), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 0U);
  EXPECT_EQ(one_.moves().Figures().handed_over, 0U);
}

TEST_F(JobMovesTest, AJobThatCouldNotBeReadIsGivenAllTheSame) {
  two_.room().store().FailLoads(1);
  Move(two_);
  memory_.AskToGive("job");
  two_.Settle();
  one_.Settle();
  EXPECT_THAT(Describe(*JobOf(one_)), IsOk());
}

TEST_F(JobMovesTest, AllAreGivenToThoseThatStay) {
  for (const char* name : {"a", "b", "c"}) ASSERT_THAT(one_.Create(name), IsOk());
  SharedServer three(memory_, "three:3");
  ASSERT_THAT(one_.store().Leave(), IsOk());
  one_.moves().GiveAll(std::chrono::minutes(4));
  two_.Settle();
  three.Settle();
  EXPECT_TRUE(one_.jobs().ByAge().empty());
  EXPECT_EQ(two_.jobs().ByAge().size(), 2U);
  EXPECT_EQ(three.jobs().ByAge().size(), 2U);
}

TEST_F(JobMovesTest, AJobIsReadAgainWhenItIsAskedForAndCouldNotBeRead) {
  two_.room().store().FailLoads(1);
  Move(two_);
  EXPECT_FALSE(two_.jobs().Find("job").ok());
  EXPECT_EQ(ReasonOf(two_.WhereIs("job")), kNoLeader);
  two_.Settle();
  EXPECT_THAT(Describe(*JobOf(two_)), IsOk());
}

TEST_F(JobMovesTest, AServerThatJoinsTakesWhatNobodyLeads) {
  memory_.Move("job", nullptr);
  SharedServer three(memory_, "three:3");
  three.Settle();
  EXPECT_THAT(Describe(*JobOf(three)), IsOk());
}

TEST_F(JobMovesTest, ANameThatAnotherServerGaveAJobIsTaken) {
  const absl::Status taken = two_.Create("job");
  EXPECT_THAT(taken,
              StatusIs(absl::StatusCode::kAlreadyExists, "name: 'job' is taken"));
  EXPECT_EQ(DetailOf(taken), (StatusDetail{"JOB_EXISTS", {{"job", "job"}}}));
  EXPECT_FALSE(two_.jobs().Find("job").ok());
  EXPECT_THAT(DoIngest(*JobOf(one_), 0, {10}), IsOk());
}

TEST_F(JobMovesTest, ANameThatIsTakenIsToldToWhoWouldHaveMadeTheJobAlone) {
  two_.room().store().Block();
  const Awaited<absl::StatusOr<JobStatus>> other;
  two_.jobs().Create("other", CreateJob{SmallJob()}, other);
  two_.room().store().WaitUntilBlocked();
  // These are committed together.
  const Awaited<absl::StatusOr<JobStatus>> made;
  two_.jobs().Create("job", CreateJob{SmallJob()}, made);
  const Awaited<absl::StatusOr<JobStatus>> updated;
  JobOf(two_)->Reconfigure(
      [](uint64_t from) {
        return UpdateJob{from, SmallJob()};
      },
      std::nullopt, updated);
  const Awaited<absl::Status> removed;
  two_.jobs().Remove("job", removed);
  two_.room().store().Release();
  EXPECT_THAT(other.Get(), IsOk());
  EXPECT_EQ(ReasonOf(made.Get().status()), "JOB_EXISTS");
  EXPECT_EQ(ReasonOf(updated.Get().status()), "JOB_NOT_FOUND");
  EXPECT_EQ(ReasonOf(removed.Get()), "JOB_NOT_FOUND");
  EXPECT_THAT(Describe(*JobOf(one_)), IsOk());
}

TEST_F(JobMovesTest, JobsThatStayGoOnWhileAnotherIsHandedOver) {
  ASSERT_THAT(one_.Create("stays"), IsOk());
  memory_.AskToGive("job");
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_THAT(DoIngest(*one_.jobs().Find("stays").value(), i, {10}), IsOk());
  }
  one_.Settle();
  EXPECT_FALSE(one_.jobs().Find("job").ok());
}

TEST_F(JobMovesTest, OtherServersProfilesAreReadWhenTheStoreTells) {
  const Awaited<absl::Status> put;
  one_.profiles().Put("p", "bytes", put);
  ASSERT_THAT(put.Get(), IsOk());
  memory_.TellProfilesChanged(one_.store());
  // In turn after it.
  two_.WhereIs("none").IgnoreError();
  two_.WhereIs("none").IgnoreError();
  EXPECT_EQ(two_.profiles().Find("p").value(), "bytes");
}

TEST_F(JobMovesTest, AServerThatCanLeadNothingSaysSo) {
  one_.moves().OnLostAll(absl::AbortedError("store: its name is gone"));
  EXPECT_TRUE(one_.lost_all());
}

// `two` is told of the job, which `one` leads by the time that it is read; then it
// can't be read.
TEST_F(JobMovesTest, AJobThatMovedOnBeforeItWasReadIsNoFault) {
  // Where a log goes that was not started.
  CaptureStderr();
  two_.moves().OnTaken("job");
  two_.Settle();
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr(" info job not taken job=job error=\"store: another server "
                        "leads\"\n"));
  two_.room().store().FailLoads(1);
  CaptureStderr();
  two_.moves().OnTaken("job");
  two_.Settle();
  EXPECT_THAT(GetCapturedStderr(), HasSubstr(" warning job not taken job=job "));
  EXPECT_EQ(two_.moves().Figures().taken, 0U);
}

// Told while the move before ends, on whose thread it may be done or be begun anew.
TEST_F(JobMovesTest, AMoveIsDoneOnceHoweverCloseItComesBehindAnother) {
  const auto tell = [this] {
    constexpr int kMoves = 20'000;
    constexpr int kLongestPause = 20'000;
    for (int i = 0; i < kMoves; ++i) {
      two_.moves().OnTaken("none");
      // Now shorter and now longer than moves take.
      for (std::atomic<int> pause = i * 7 % kLongestPause; pause > 0;) --pause;
    }
  };
  {
    const std::jthread one(tell);
    const std::jthread other(tell);
  }
  two_.Settle();
  EXPECT_EQ(two_.moves().Figures().lost, 0U);
}

TEST_F(JobMovesTest, NothingMovesOnceItHasStopped) {
  two_.moves().Stop();
  memory_.Move("job", &two_.store());
  two_.Settle();
  EXPECT_FALSE(two_.jobs().Find("job").ok());
}

}  // namespace
}  // namespace evenpack
