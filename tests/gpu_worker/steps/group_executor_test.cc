#include "gpu_worker/steps/group_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/rendezvous/meeting_place.h"
#include "tests/gpu_worker/steps/executing_rank.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::ExecutingRank;
using evenpack::testing::FakeClock;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::kIndex;
using evenpack::testing::MeetingPlace;
using evenpack::testing::SmallShape;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class GroupExecutorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kRanks = 2;

  std::unique_ptr<ExecutingRank> Start(uint32_t rank,
                                       std::function<bool()> breaks = {}) {
    return std::make_unique<ExecutingRank>(table_, place_, kRanks, rank,
                                           absl::StrCat("process", started_++),
                                           std::move(breaks));
  }

  GroupTable table_;
  MeetingPlace place_{kRanks};
  int started_ = 0;
  const MadeMicroBatch made_{SmallShape(), {40, 3, 17}, 1};
  const ShardPlan plan_ = Planned(Sharding::kPerDocument, made_.lengths(), kRanks);
};

TEST_F(GroupExecutorTest, ExecutesStepAfterStepInOneEpoch) {
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    for (uint64_t step = 5; step < 9; ++step) {
      EXPECT_EQ(own.Execute(step, made_, plan_), 1);
    }
    EXPECT_EQ(own.executor().epoch(), 1U);
  });
}

TEST_F(GroupExecutorTest, ARankThatSkipsAStepIsToldOfWhereItsPassesMeetThePeers) {
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    EXPECT_EQ(own.Execute(5, made_, plan_), 1);
    EXPECT_THAT(own.Compute(rank == 0 ? 6 : 7, made_, plan_),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("at step 6"), HasSubstr("at step 7"))));
  });
}

TEST_F(GroupExecutorTest, ARankThatSkipsAStepIsToldOfAtItsEndWhereNothingTravels) {
  const MadeMicroBatch whole(SmallShape(), {40, 40}, 1);
  const ShardPlan a_document_each =
      Planned(Sharding::kContiguous, whole.lengths(), kRanks);
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    EXPECT_EQ(own.Execute(5, made_, plan_), 1);
    EXPECT_THAT(own.Compute(rank == 0 ? 6 : 7, whole, a_document_each), IsOk());
    EXPECT_THAT(own.executor().EndStep(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("at step 6"), HasSubstr("at step 7"))));
  });
}

TEST_F(GroupExecutorTest, AStepThatARankGaveUpIsNotLeftByItsPeers) {
  const auto a = Start(0);
  const auto b = Start(1);
  std::barrier computed(kRanks);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    EXPECT_EQ(own.Execute(5, made_, plan_), 1);
    EXPECT_THAT(own.Compute(6, made_, plan_), IsOk());
    computed.arrive_and_wait();
    const auto apart = StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("at step 6"), HasSubstr("at step 7")));
    if (rank == 0) {
      EXPECT_THAT(own.executor().EndStep(), apart);
    } else {
      own.executor().Abandon(absl::InvalidArgumentError("a loss that is no number"));
      EXPECT_THAT(own.executor().BeginStep(7), apart);
    }
  });
}

TEST_F(GroupExecutorTest, AllRanksMayGoToAnotherStepInOneEpoch) {
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    for (const uint64_t step : {5U, 9U, 2U, 3U}) {
      EXPECT_EQ(own.Execute(step, made_, plan_), 1);
    }
    EXPECT_EQ(own.executor().epoch(), 1U);
  });
}

TEST_F(GroupExecutorTest, AStepWhoseConnectionsBrokeIsDoneAgainByAll) {
  // The first exchange tells the progress; the next ones are those of the passes.
  std::atomic<int> exchanges = 0;
  const auto a = Start(0, [&exchanges] { return ++exchanges == 3; });
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    EXPECT_EQ(own.Execute(5, made_, plan_), 2);
    EXPECT_EQ(own.Execute(6, made_, plan_), 1);
    EXPECT_EQ(own.executor().epoch(), 2U);
  });
}

TEST_F(GroupExecutorTest, WhatWasMeasuredIsToldOnceOfTheAttemptThatCounted) {
  std::atomic<int> exchanges = 0;
  const auto a = Start(0, [&exchanges] { return ++exchanges == 3; });
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    ExecutingRank& own = rank == 0 ? *a : *b;
    EXPECT_EQ(own.Execute(5, made_, plan_), 2);
    EXPECT_EQ(own.Execute(6, made_, plan_), 1);
    ASSERT_EQ(own.executed().size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      const auto& [step, times] = own.executed()[i];
      EXPECT_EQ(step, 5 + i);
      ASSERT_EQ(times.size(), 1U);
      const MicroBatchTimes& of = times.at(7);
      EXPECT_EQ(of.forward_passes, 1U);
      EXPECT_EQ(of.backward_passes, 1U);
      EXPECT_GT(of.forward_ns, 0);
      EXPECT_GT(of.backward_ns, 0);
      EXPECT_GT(of.waited_ns, 0);
    }
  });
}

TEST_F(GroupExecutorTest, ARankThatWasRestartedAtTheSameStepGoesOnWithTheOthers) {
  auto a = Start(0);
  const auto b = Start(1);
  std::thread peer([&] {
    // Of the step after the first it has done all but the end.
    EXPECT_EQ(b->Execute(5, made_, plan_), 1);
    EXPECT_EQ(b->Execute(6, made_, plan_), 2);
  });
  EXPECT_EQ(a->Execute(5, made_, plan_), 1);
  EXPECT_THAT(a->Compute(6, made_, plan_), IsOk());
  a = nullptr;
  a = Start(0);
  EXPECT_EQ(a->Execute(6, made_, plan_), 1);
  peer.join();
}

TEST_F(GroupExecutorTest, ARankThatWasRestartedFromAnotherCheckpointIsToldOf) {
  auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks,
            [&](uint32_t rank) { (rank == 0 ? *a : *b).Execute(5, made_, plan_); });
  a = nullptr;
  a = Start(0);
  const auto apart =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is at step 2"));
  InThreads(kRanks, [&](uint32_t rank) {
    if (rank == 0) {
      EXPECT_THAT(
          a->executor().BeginStep(2),
          StatusIs(absl::StatusCode::kFailedPrecondition,
                   "cp_rank 1 is at step 6, and cp_rank 0 at step 2; accepted: "
                   "all ranks of the group at one step, as after a restart from "
                   "the same checkpoint"));
    } else {
      absl::Status status = b->Compute(6, made_, plan_);
      if (absl::IsAborted(status)) status = b->executor().BeginStep(6);
      EXPECT_THAT(status, apart);
    }
  });
  // Both go back to the checkpoint.
  InThreads(kRanks, [&](uint32_t rank) {
    EXPECT_EQ((rank == 0 ? *a : *b).Execute(2, made_, plan_), 1);
  });
}

// Fails each pass.
class BrokenEngine final : public AttentionEngine {
 public:
  absl::Status Forward(const AttentionCall&, const ForwardResult&) override {
    return absl::InternalError("the device is gone");
  }
  absl::Status Backward(const AttentionCall&, const BackwardInput&,
                        const BackwardResult&) override {
    return absl::InternalError("the device is gone");
  }
};

TEST_F(GroupExecutorTest, AnErrorOfTheEngineIsToldOnItsRankAndPeersDoTheStepAgain) {
  const auto a = Start(0);
  const auto b = Start(1);
  BrokenEngine broken;
  InThreads(kRanks, [&](uint32_t rank) {
    if (rank == 0) {
      GroupExecutor executor(a->rendezvous(), broken, {});
      ASSERT_THAT(executor.BeginStep(5), IsOk());
      PreparedMicroBatch prepared = PrepareMicroBatch(plan_, 0, SmallShape());
      // As the peer's, or they would be in different passes.
      prepared.index = kIndex;
      RankTensors tensors = made_.OfRank(plan_, 0);
      EXPECT_THAT(executor.Forward(prepared, tensors.input(), tensors.result()),
                  StatusIs(absl::StatusCode::kInternal, "the device is gone"));
      EXPECT_EQ(a->Execute(5, made_, plan_), 1);
    } else {
      // Once, where the peer failed before this rank had begun.
      EXPECT_LE(b->Execute(5, made_, plan_), 2);
    }
  });
}

TEST_F(GroupExecutorTest, PeersDoNotWaitForARankThatAbandonsTheStep) {
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    if (rank == 1) {
      b->Execute(5, made_, plan_);
      return;
    }
    EXPECT_THAT(a->executor().BeginStep(5), IsOk());
    a->executor().Abandon(absl::InvalidArgumentError("bad tensors"));
    EXPECT_THAT(a->executor().EndStep(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  HasSubstr("BeginStep")));
    a->Execute(5, made_, plan_);
  });
  EXPECT_GT(a->executor().epoch(), 1U);
  EXPECT_EQ(a->executor().epoch(), b->executor().epoch());
}

// Rank 0, whose exchanges fail as those with a peer that hangs do: each takes its
// time-out, and then all are connected again.
class GroupExecutorPatienceTest : public GroupExecutorTest {
 protected:
  std::unique_ptr<ExecutingRank> StartWithHungPeers() {
    return std::make_unique<ExecutingRank>(
        table_, place_, kRanks, 0, "waits",
        [this] {
          if (hung_ == 0) return false;
          --hung_;
          clock_.Advance(timeout_);
          if (then_) then_();
          return true;
        },
        clock_);
  }
  std::chrono::nanoseconds Waited() const { return clock_.Now() - start_; }

  // The patience is half an hour.
  std::chrono::nanoseconds timeout_ = std::chrono::minutes(10);
  static constexpr int kForGood = 1000;
  std::atomic<int> hung_ = 0;
  std::function<void()> then_;
  FakeClock clock_;
  const Clock::TimePoint start_ = clock_.Now();
};

TEST_F(GroupExecutorPatienceTest, APeerThatHangsIsWaitedForNoLongerThanThePatience) {
  hung_ = kForGood;
  const auto a = StartWithHungPeers();
  const auto hangs = Start(1);
  EXPECT_THAT(a->executor().BeginStep(5),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "step 5: not all ranks of the group took part in it within "
                       "1800 s, with a patience of 1800 s; last: the connections "
                       "broke"));
  EXPECT_EQ(Waited(), std::chrono::minutes(30));
  EXPECT_EQ(a->executor().epoch(), 3U);
}

TEST_F(GroupExecutorPatienceTest, APeerThatHangsBeforeAStepsEndIsToldOfThere) {
  const auto a = StartWithHungPeers();
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    EXPECT_EQ((rank == 0 ? *a : *b).Execute(5, made_, plan_), 1);
  });
  EXPECT_THAT(a->executor().BeginStep(6), IsOk());
  hung_ = kForGood;
  EXPECT_THAT(a->executor().EndStep(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                                HasSubstr("step 6: not all ranks")));
  // It is back, and both may try again.
  hung_ = 0;
  InThreads(kRanks,
            [&](uint32_t rank) { (rank == 0 ? *a : *b).Execute(6, made_, plan_); });
  EXPECT_EQ(a->executed().size(), 2U);
}

TEST_F(GroupExecutorPatienceTest, APeerThatHungAndIsGoneHasThePatienceOnce) {
  // Nearly all of it, and then the peer is gone altogether.
  timeout_ = std::chrono::minutes(30) - std::chrono::milliseconds(1);
  hung_ = 1;
  const auto a = StartWithHungPeers();
  auto hangs = Start(1);
  then_ = [&hangs] { hangs = nullptr; };
  EXPECT_THAT(a->executor().BeginStep(5),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("step 5: not all ranks"),
                             HasSubstr("were not all connected within 0.001 s"))));
}

TEST_F(GroupExecutorPatienceTest, ASlowPeerHasThePatienceAnewWithEachStep) {
  timeout_ = std::chrono::minutes(14);
  const auto a = StartWithHungPeers();
  const auto b = Start(1);
  for (uint64_t step = 5; step < 9; ++step) {
    hung_ = 2;
    InThreads(kRanks, [&](uint32_t rank) {
      (rank == 0 ? *a : *b).Execute(step, made_, plan_);
    });
    EXPECT_EQ(hung_, 0);
  }
  EXPECT_EQ(a->executed().size(), 4U);
  EXPECT_EQ(Waited(), std::chrono::minutes(4 * 2 * 14));
}

TEST_F(GroupExecutorTest, CallsOutsideAStepAreRefused) {
  const auto a = Start(0);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan_, 0, SmallShape());
  for (const absl::Status& status :
       {a->executor().Forward(prepared, {}, {}),
        a->executor().Backward(prepared, {}, {}, nullptr, {}),
        a->executor().EndStep()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "no step has begun; accepted: after BeginStep"));
  }
}

TEST_F(GroupExecutorTest, AMembershipThatEndsIsFinal) {
  const auto a = Start(0);
  a->rendezvous().Cancel();
  EXPECT_THAT(a->executor().BeginStep(0),
              StatusIs(absl::StatusCode::kCancelled, "the group was left"));
}

// It has no peers that would tell it.
TEST(GroupOfOneExecutorTest, AStepThatHasBegunEndsWithTheMembership) {
  GroupTable table;
  MeetingPlace place{1};
  ExecutingRank rank(table, place, 1, 0, "process");
  ASSERT_THAT(rank.executor().BeginStep(0), IsOk());
  rank.rendezvous().Cancel();
  const PreparedMicroBatch prepared;
  for (const absl::Status& status :
       {rank.executor().Forward(prepared, {}, {}),
        rank.executor().Backward(prepared, {}, {}, nullptr, {}),
        rank.executor().EndStep(), rank.executor().BeginStep(1)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, "the group was left"));
  }
  EXPECT_TRUE(rank.executed().empty());
}

TEST_F(GroupExecutorTest, AProcessWhoseRankWasTakenIsNotToldToBeginAgain) {
  const auto a = Start(0);
  const auto b = Start(1);
  InThreads(kRanks, [&](uint32_t rank) {
    EXPECT_THAT((rank == 0 ? *a : *b).executor().BeginStep(0), IsOk());
  });
  const auto newer = Start(0);
  // Rank by rank, until it is told so, and until it computes with the newer one.
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    absl::Status status;
    while (status.ok() || absl::IsAborted(status)) {
      status = a->Compute(0, made_, plan_);
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("was taken by a newer call")));
  });
  for (ExecutingRank* own : {b.get(), newer.get()}) {
    threads.emplace_back([&, own] {
      while (!own->Compute(0, made_, plan_).ok() || own->executor().epoch() < 2) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Connections break at random exchanges; every step is executed rightly on all ranks,
// by as many ends as there are steps.
TEST(GroupExecutorPropertyTest, WhateverBreaksEachStepIsExecutedByAll) {
  constexpr uint64_t kSteps = 6;
  int redone = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    const auto ranks = static_cast<uint32_t>(2 + seed % 3);
    GroupTable table;
    MeetingPlace place(ranks);
    const MadeMicroBatch made(SmallShape(), {30, 1, 12}, seed);
    // Whole documents on a rank need no exchange in a pass.
    const ShardPlan plan =
        Planned(seed % 2 == 0 ? Sharding::kPerDocument : Sharding::kContiguous,
                made.lengths(), ranks);
    std::atomic<int> attempts = 0;
    std::barrier all_done(ranks);
    InThreads(ranks, [&](uint32_t rank) {
      const auto random = std::make_shared<std::mt19937_64>(seed * 100 + rank);
      const auto calm = std::make_shared<std::atomic<bool>>(false);
      ExecutingRank own(table, place, ranks, rank, absl::StrCat("process", rank),
                        [random, calm] { return !*calm && Draw(*random, 0, 39) == 0; });
      for (uint64_t step = 0; step < kSteps; ++step) {
        attempts += own.Execute(step, made, plan);
      }
      // Peers may still have to hear that they have executed the last one.
      *calm = true;
      absl::Status status;
      do {
        status = own.executor().BeginStep(kSteps);
        if (status.ok()) status = own.executor().EndStep();
      } while (absl::IsAborted(status));
      EXPECT_THAT(status, IsOk());
      all_done.arrive_and_wait();
    });
    redone += attempts - static_cast<int>(ranks * kSteps);
    if (HasFailure()) return;
  }
  EXPECT_GT(redone, 20) << "nothing broke";
}

}  // namespace
}  // namespace evenpack::worker
