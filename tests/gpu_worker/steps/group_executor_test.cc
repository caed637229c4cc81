#include "gpu_worker/steps/group_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/rendezvous/meeting_place.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::IsOk;
using evenpack::testing::MeetingPlace;
using evenpack::testing::StatusIs;
using evenpack::testing::TableMember;
using ::testing::AllOf;
using ::testing::HasSubstr;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 2;
  shape.head_size = 64;
  return shape;
}

// Of the one micro-batch of a step.
constexpr uint32_t kIndex = 7;

// A rank, whose connections break before the exchanges that a test names.
class Rank {
 public:
  Rank(GroupTable& table, MeetingPlace& place, uint32_t ranks, uint32_t rank,
       const std::string& name, std::function<bool()> breaks = {})
      : rank_(rank),
        rendezvous_(
            std::make_unique<TableMember>(table, GroupSeat{0, ranks, rank, name}),
            [&place, rank, breaks = std::move(breaks)] {
              return absl::StatusOr<std::unique_ptr<Endpoint>>(
                  place.Open(rank, breaks));
            }) {}

  GroupExecutor& executor() { return executor_; }
  // Of steps that were executed, in order.
  const std::vector<std::pair<uint64_t, StepTimes>>& executed() const {
    return executed_;
  }
  GroupRendezvous& rendezvous() { return rendezvous_; }

  // The passes of a step of one micro-batch, and whether they computed what they must.
  absl::Status Compute(uint64_t step, const MadeMicroBatch& made,
                       const ShardPlan& plan) {
    if (absl::Status status = executor_.BeginStep(step); !status.ok()) return status;
    PreparedMicroBatch prepared = PrepareMicroBatch(plan, rank_, SmallShape());
    prepared.index = kIndex;
    RankTensors tensors = made.OfRank(plan, rank_);
    absl::Status status =
        executor_.Forward(prepared, tensors.input(), tensors.result());
    if (!status.ok()) return status;
    status = executor_.Backward(prepared, tensors.input(), tensors.result(),
                                tensors.output_gradient.data(), tensors.gradients());
    if (!status.ok()) return status;
    EXPECT_LT(made.Compare(plan, rank_, tensors).Largest(),
              AcceptedError(ElementType::kFloat32));
    return absl::OkStatus();
  }
  // All of a step, as often as it takes; how often.
  int Execute(uint64_t step, const MadeMicroBatch& made, const ShardPlan& plan) {
    for (int attempt = 1;; ++attempt) {
      absl::Status status = Compute(step, made, plan);
      if (status.ok()) status = executor_.EndStep();
      if (status.ok()) return attempt;
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                                   HasSubstr(absl::StrCat("step ", step, " "))));
      if (!absl::IsAborted(status)) return attempt;
    }
  }

 private:
  const uint32_t rank_;
  GroupRendezvous rendezvous_;
  CpuAttention engine_{1};
  std::vector<std::pair<uint64_t, StepTimes>> executed_;
  GroupExecutor executor_{
      rendezvous_, engine_, {}, [this](uint64_t step, const StepTimes& times) {
        executed_.emplace_back(step, times);
      }};
};

void InThreads(uint32_t ranks, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

class GroupExecutorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kRanks = 2;

  std::unique_ptr<Rank> Start(uint32_t rank, std::function<bool()> breaks = {}) {
    return std::make_unique<Rank>(table_, place_, kRanks, rank,
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
    Rank& own = rank == 0 ? *a : *b;
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
  Rank rank(table, place, 1, 0, "process");
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
  for (Rank* own : {b.get(), newer.get()}) {
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
      Rank own(table, place, ranks, rank, absl::StrCat("process", rank),
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
