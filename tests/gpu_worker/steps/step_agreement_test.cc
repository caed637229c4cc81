#include "gpu_worker/steps/step_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

constexpr StepProgress Within(uint64_t step) { return {step, false}; }
constexpr StepProgress Executed(uint64_t step) { return {step, true}; }
// Begun by a rank that has not executed the one before it.
constexpr StepProgress Jumped(StepProgress to) {
  to.jumped = true;
  return to;
}

struct Row {
  std::string name;
  std::vector<StepProgress> ranks;
  // What each does.
  std::vector<StepVerdict> verdicts;
};

constexpr StepVerdict kExecute = StepVerdict::kExecute;
constexpr StepVerdict kLeave = StepVerdict::kLeave;
constexpr StepVerdict kRedo = StepVerdict::kRedo;

TEST(JudgeProgressTest, RanksAgreeOnWhatTheyDo) {
  const Row rows[] = {
      {"alone", {Within(0)}, {kExecute}},
      {"all begin", {Within(0), Within(0)}, {kExecute, kExecute}},
      {"all are within one", {Within(7), Within(7)}, {kExecute, kExecute}},
      {"one has executed it", {Executed(7), Within(7)}, {kRedo, kExecute}},
      {"all have executed it", {Executed(7), Executed(7)}, {kLeave, kLeave}},
      {"one has left it", {Executed(7), Within(8)}, {kLeave, kExecute}},
      {"one has executed the next, which needs no peer",
       {Executed(7), Executed(8)},
       {kLeave, kRedo}},
      {"three stages at once",
       {Executed(7), Within(8), Executed(8)},
       {kLeave, kExecute, kRedo}},
      {"the first step", {Executed(0), Within(0)}, {kRedo, kExecute}},
      {"all go to another one",
       {Jumped(Within(3)), Jumped(Within(3))},
       {kExecute, kExecute}},
      {"one has executed that",
       {Jumped(Executed(3)), Jumped(Within(3))},
       {kRedo, kExecute}},
      {"one has left that", {Jumped(Executed(3)), Within(4)}, {kLeave, kExecute}},
  };
  for (const Row& row : rows) {
    for (uint32_t rank = 0; rank < row.ranks.size(); ++rank) {
      const auto verdict = JudgeProgress(rank, row.ranks);
      ASSERT_THAT(verdict, IsOk()) << row.name;
      EXPECT_EQ(*verdict, row.verdicts[rank]) << row.name << ", rank " << rank;
    }
  }
}

TEST(JudgeProgressTest, RanksOfDifferentCheckpointsAreToldOf) {
  const std::vector<std::vector<StepProgress>> rows = {
      {Within(7), Within(8)},
      {Within(7), Executed(8)},
      {Executed(6), Within(8)},
      {Executed(6), Executed(8)},
      {Within(0), Within(12)},
      // It has not executed step 7, though one that is at step 8 would have.
      {Executed(7), Jumped(Within(8))},
      {Executed(7), Jumped(Executed(8))},
  };
  for (const std::vector<StepProgress>& ranks : rows) {
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_THAT(JudgeProgress(rank, ranks).status(),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("accepted: all ranks of the group at one step")));
    }
  }
  const std::vector<StepProgress> ranks = {Within(12), Within(12), Within(3)};
  EXPECT_THAT(
      JudgeProgress(0, ranks).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("cp_rank 2 is at step 3, and cp_rank 0 at step 12; ")));
}

TEST(CheckTogetherTest, RanksThatEndDifferentStepsAreToldOf) {
  const std::vector<StepProgress> together = {Executed(7), Executed(7)};
  EXPECT_THAT(CheckTogether(0, together), IsOk());
  const std::vector<StepProgress> apart = {Executed(7), Executed(7), Executed(8)};
  EXPECT_THAT(CheckTogether(1, apart),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cp_rank 2 is at step 8, and cp_rank 1 at step 7; ")));
}

TEST(CheckTogetherTest, RanksThatMadeOtherPassesAreToldOf) {
  StepProgress other = Executed(7);
  other.exchanged = 5;
  const std::vector<StepProgress> differ = {Executed(7), Executed(7), other};
  EXPECT_THAT(
      CheckTogether(0, differ),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("cp_rank 2 has made other passes in step 7 than cp_rank 0; "
                         "accepted: the same passes in the same order")));
}

TEST(ExchangeProgressTest, EachHearsOfAll) {
  std::vector<StepProgress> progress = {Within(7), Executed(7),
                                        Jumped(Executed(uint64_t{1} << 61))};
  progress[1].exchanged = ~uint64_t{0};
  LocalGroup group(3);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto heard =
          ExchangeProgress(group.OfRank(rank), Device::Host(), progress[rank]);
      ASSERT_THAT(heard, IsOk());
      EXPECT_EQ(*heard, progress);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ExchangeProgressTest, AnAbortedGroupIsAnError) {
  LocalGroup group(2);
  const absl::Status why = absl::AbortedError("epoch 1 has ended");
  group.OfRank(0).Abort(why);
  EXPECT_EQ(ExchangeProgress(group.OfRank(0), Device::Host(), Within(1)).status(), why);
}

}  // namespace
}  // namespace evenpack::worker
