#include "gpu_worker/session/ring_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "gpu_worker/arena/arena_allocator.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "server/core/sharding/plan_digest.h"
#include "tests/gpu_worker/arena/ring.h"
#include "tests/gpu_worker/rendezvous/meeting_place.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::MeetingPlace;
using evenpack::testing::Ring;
using evenpack::testing::StatusIs;
using evenpack::testing::TableMember;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kFirstStep = 5;
constexpr uint64_t kFirstMicroBatch = 4;
constexpr uint64_t kSteps = 3;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 2;
  shape.head_size = 64;
  return shape;
}

// A rank's worker, and the trainer that it works for: steps of two micro-batches.
class Rank {
 public:
  struct Options {
    uint32_t ranks = 1;
    uint32_t rank = 0;
    uint64_t scratch_bytes = 1 << 20;
    // Before an exchange; true: the connections break.
    std::function<bool()> breaks = {};
    // Behind its last step; else it is drained there.
    bool reconfigured = false;
    // Of each step.
    size_t micro_batches = 2;
  };

  Rank(GroupTable& table, MeetingPlace& place, const MadeMicroBatch& made,
       const Options& options)
      : rank_(options.rank),
        made_(made),
        reconfigured_(options.reconfigured),
        micro_batches_(options.micro_batches),
        plan_(Planned(Sharding::kPerDocument, made.lengths(), options.ranks)),
        ring_(1 << 20),
        rendezvous_(
            std::make_unique<TableMember>(
                table, GroupSeat{0, options.ranks, rank_, absl::StrCat("m", rank_)}),
            [&place, rank = rank_, breaks = options.breaks] {
              return absl::StatusOr<std::unique_ptr<Endpoint>>(
                  place.Open(rank, breaks));
            }),
        ring_executor_(ring_.workers, ring_.reader, completions_, executor_,
                       [this] { return Next(); }, {{}, options.scratch_bytes}),
        thread_([this] { ended_ = ring_executor_.Run(); }) {
    Place();
  }
  ~Rank() { End().IgnoreError(); }

  absl::Status End() {
    if (!thread_.joinable()) return ended_;
    ring_.reader.Cancel();
    rendezvous_.Cancel();
    thread_.join();
    return ended_;
  }

  uint64_t Submit(SubmissionKind kind, uint64_t step,
                  uint32_t micro_batch = kFirstMicroBatch) {
    Submission submission = tensors_;
    submission.kind = kind;
    submission.step = step;
    submission.micro_batch = micro_batch;
    return *ring_.writer.Submit(submission);
  }
  absl::Status Ask(SubmissionKind kind, uint64_t step,
                   uint32_t micro_batch = kFirstMicroBatch) {
    return ring_.writer.Wait(Submit(kind, step, micro_batch));
  }

  // The largest error of what the worker has computed.
  double Error() {
    const auto fetch = [&](ArenaTensor tensor, auto& values) {
      std::copy_n(At(tensor), values.size() * sizeof(values[0]),
                  reinterpret_cast<char*>(values.data()));
    };
    fetch(kOutput, values_.output);
    fetch(kLogSumExp, values_.log_sum_exp);
    fetch(kQueryGradient, values_.query_gradient);
    fetch(kKeyGradient, values_.key_gradient);
    fetch(kValueGradient, values_.value_gradient);
    return made_.Compare(plan_, rank_, values_).Largest();
  }
  // All of a step at once; how it came out.
  absl::Status EnqueueStep(uint64_t step) {
    Submit(SubmissionKind::kBeginStep, step);
    for (uint32_t micro_batch = kFirstMicroBatch; micro_batch < kFirstMicroBatch + 2;
         ++micro_batch) {
      Submit(SubmissionKind::kForward, step, micro_batch);
      Submit(SubmissionKind::kBackward, step, micro_batch);
    }
    return Ask(SubmissionKind::kEndStep, step);
  }

  // As often as it takes.
  absl::Status ExecuteStep(uint64_t step) {
    for (;;) {
      absl::Status status = EnqueueStep(step);
      if (!absl::IsAborted(status)) return status;
      EXPECT_THAT(status.message(),
                  HasSubstr(absl::StrCat("step ", step, " is to be done again")));
    }
  }

  void WriteGarbage() { Advance(ring_.trainers.header().submitted, uint64_t{1} << 40); }

  Submission& tensors() { return tensors_; }
  SubmissionWriter& trainer() { return ring_.writer; }
  RingProgress progress() const { return ring_executor_.progress(); }

 private:
  // The tensors of the micro-batch come into the arena.
  void Place() {
    values_ = made_.OfRank(plan_, rank_);
    const auto place = [&](ArenaTensor tensor, const auto& values) {
      const size_t bytes = values.size() * sizeof(values[0]);
      tensors_.tensors[tensor] = *allocator_.Allocate(bytes);
      std::copy_n(reinterpret_cast<const char*>(values.data()), bytes, At(tensor));
    };
    place(kQuery, values_.query);
    place(kKey, values_.key);
    place(kValue, values_.value);
    place(kOutput, values_.output);
    place(kLogSumExp, values_.log_sum_exp);
    place(kOutputGradient, values_.output_gradient);
    place(kQueryGradient, values_.query_gradient);
    place(kKeyGradient, values_.key_gradient);
    place(kValueGradient, values_.value_gradient);
    tensors_.rows = HeldTokens(plan_, rank_);
  }
  char* At(ArenaTensor tensor) const {
    return ring_.trainers.data() + tensors_.tensors[tensor];
  }
  absl::StatusOr<std::optional<ExecutableStep>> Next() {
    if (taken_ == kSteps) {
      if (reconfigured_) return absl::AbortedError("the job was reconfigured");
      return std::optional<ExecutableStep>();
    }
    ExecutableStep step;
    step.step = kFirstStep + taken_++;
    step.first_micro_batch = kFirstMicroBatch;
    step.micro_batches.assign(micro_batches_,
                              PrepareMicroBatch(plan_, rank_, SmallShape()));
    return std::optional<ExecutableStep>(std::move(step));
  }

  const uint32_t rank_;
  const MadeMicroBatch& made_;
  const bool reconfigured_;
  const size_t micro_batches_;
  const ShardPlan plan_;
  Ring ring_;
  ArenaAllocator allocator_{ring_.trainers.data_bytes()};
  Submission tensors_;
  RankTensors values_;
  uint64_t taken_ = 0;
  absl::Status ended_;

  GroupRendezvous rendezvous_;
  CpuAttention engine_{1};
  GroupExecutor executor_{rendezvous_, engine_, {}};
  HostCompletions completions_{ring_.reader};
  RingExecutor ring_executor_;
  std::thread thread_;
};

class RingExecutorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Rank> Start(const Rank::Options& options) {
    if (!place_.has_value()) place_.emplace(options.ranks);
    return std::make_unique<Rank>(table_, *place_, made_, options);
  }

  GroupTable table_;
  std::optional<MeetingPlace> place_;
  const MadeMicroBatch made_{SmallShape(), {40, 3, 17}, 1};
};

TEST_F(RingExecutorTest, ExecutesWhatWasEnqueuedWithoutWaiting) {
  const auto a = Start({.ranks = 2, .rank = 0});
  const auto b = Start({.ranks = 2, .rank = 1});
  for (uint64_t step = kFirstStep; step < kFirstStep + kSteps; ++step) {
    std::thread peer([&] { EXPECT_THAT(b->EnqueueStep(step), IsOk()); });
    EXPECT_THAT(a->EnqueueStep(step), IsOk());
    peer.join();
    EXPECT_LT(a->Error(), AcceptedError(ElementType::kFloat32));
    EXPECT_LT(b->Error(), AcceptedError(ElementType::kFloat32));
  }
  const RingProgress progress = a->progress();
  EXPECT_EQ(progress.submissions, 6 * kSteps);
  EXPECT_EQ(progress.step, kFirstStep + kSteps - 1);
  EXPECT_TRUE(progress.ended);
  EXPECT_EQ(progress.epoch, 1U);
}

TEST_F(RingExecutorTest, AStepThatLostItsPeersIsBegunAnewByBoth) {
  std::atomic<int> exchanges = 0;
  const auto a = Start(
      {.ranks = 2, .rank = 0, .breaks = [&exchanges] { return ++exchanges == 4; }});
  const auto b = Start({.ranks = 2, .rank = 1});
  const auto execute = [](Rank& rank) {
    EXPECT_THAT(rank.ExecuteStep(kFirstStep), IsOk());
    EXPECT_THAT(rank.ExecuteStep(kFirstStep + 1), IsOk());
  };
  std::thread peer([&] { execute(*b); });
  execute(*a);
  peer.join();
  EXPECT_GT(a->progress().epoch, 1U);
  EXPECT_EQ(a->progress().epoch, b->progress().epoch);
  EXPECT_LT(a->Error(), AcceptedError(ElementType::kFloat32));
}

TEST_F(RingExecutorTest, StepsThatAreNotNextAreRefused) {
  const auto rank = Start({});
  EXPECT_THAT(
      rank->Ask(SubmissionKind::kBeginStep, kFirstStep + 1),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("step: 6"), HasSubstr("accepted: 5, the first"))));
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep + 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("accepted: 5, which is not ended")));
  EXPECT_THAT(rank->EnqueueStep(kFirstStep), IsOk());
  for (const uint64_t step : {kFirstStep, kFirstStep + 2}) {
    EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, step),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("accepted: 6, the next one")));
  }
  EXPECT_THAT(rank->EnqueueStep(kFirstStep + 1), IsOk());
}

TEST_F(RingExecutorTest, PassesOfAStepThatHasNotBegunAreRefused) {
  const auto rank = Start({});
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("step 5 has not begun"));
  EXPECT_THAT(rank->Ask(SubmissionKind::kForward, kFirstStep), refused);
  EXPECT_THAT(rank->Ask(SubmissionKind::kBackward, kFirstStep), refused);
  EXPECT_THAT(rank->Ask(SubmissionKind::kEndStep, kFirstStep), refused);
  EXPECT_THAT(rank->EnqueueStep(kFirstStep), IsOk());
  EXPECT_THAT(rank->Ask(SubmissionKind::kForward, kFirstStep), refused);
  EXPECT_THAT(rank->Ask(SubmissionKind::kEndStep, kFirstStep), refused);
}

TEST_F(RingExecutorTest, MicroBatchesOfOthersAndKindsThatAreNoneAreRefused) {
  const auto rank = Start({});
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  for (const uint32_t other : {0U, 3U, 6U, ~0U}) {
    EXPECT_THAT(rank->Ask(SubmissionKind::kForward, kFirstStep, other),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(absl::StrCat("micro_batch: ", other)),
                               HasSubstr("4 to 5 of step 5"))));
    EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  }
  EXPECT_THAT(rank->Ask(static_cast<SubmissionKind>(9), kFirstStep),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind: 9")));
}

TEST_F(RingExecutorTest, AMicroBatchWhosePlanIsAnotherIsRefused) {
  const auto rank = Start({});
  rank->tensors().plan =
      PlanDigest(Planned(Sharding::kPerDocument, made_.lengths(), 1));
  EXPECT_THAT(rank->EnqueueStep(kFirstStep), IsOk());
  EXPECT_LT(rank->Error(), AcceptedError(ElementType::kFloat32));
  // As many rows, of other documents.
  rank->tensors().plan = PlanDigest(Planned(Sharding::kPerDocument, {41, 2, 17}, 1));
  for (const SubmissionKind pass :
       {SubmissionKind::kForward, SubmissionKind::kBackward}) {
    EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep + 1), IsOk());
    EXPECT_THAT(
        rank->Ask(pass, kFirstStep + 1),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("plan: "), HasSubstr(ToHex(rank->tensors().plan)),
                       HasSubstr("that of micro-batch 4 of step 6"))));
  }
}

TEST_F(RingExecutorTest, OfAStepWithoutMicroBatchesNoneIsAccepted) {
  const auto rank = Start({.micro_batches = 0});
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  EXPECT_THAT(rank->Ask(SubmissionKind::kForward, kFirstStep, kFirstMicroBatch),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("micro_batch: 4 is not accepted; accepted: none of "
                                 "step 5")));
}

TEST_F(RingExecutorTest, PeersDoNotWaitForAPassThatIsRefused) {
  const auto a = Start({.ranks = 2, .rank = 0});
  const auto b = Start({.ranks = 2, .rank = 1});
  const uint64_t query = a->tensors().tensors[kQuery];
  std::thread peer([&] { EXPECT_THAT(b->ExecuteStep(kFirstStep), IsOk()); });
  a->tensors().tensors[kQuery] = 7;
  EXPECT_THAT(a->EnqueueStep(kFirstStep),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query: 7")));
  a->tensors().tensors[kQuery] = query;
  EXPECT_THAT(a->ExecuteStep(kFirstStep), IsOk());
  peer.join();
  EXPECT_LT(b->Error(), AcceptedError(ElementType::kFloat32));
}

TEST_F(RingExecutorTest, PeersDoNotWaitForATrainerThatWritesNoSubmissions) {
  const auto a = Start({.ranks = 2, .rank = 0});
  const auto b = Start({.ranks = 2, .rank = 1});
  std::thread peer(
      [&] { EXPECT_THAT(b->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk()); });
  EXPECT_THAT(a->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  peer.join();
  a->WriteGarbage();
  EXPECT_THAT(b->Ask(SubmissionKind::kForward, kFirstStep),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("to be done again")));
  EXPECT_THAT(a->End(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("submitted: ")));
}

TEST_F(RingExecutorTest, APassThatNeedsTooMuchMemoryIsRefused) {
  const auto rank = Start({.scratch_bytes = 1000});
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep), IsOk());
  EXPECT_THAT(rank->Ask(SubmissionKind::kForward, kFirstStep), IsOk());
  EXPECT_THAT(rank->Ask(SubmissionKind::kBackward, kFirstStep),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("needs 30720 bytes"), HasSubstr("up to 1000"))));
}

TEST_F(RingExecutorTest, BehindTheLastStepTheJobIsDrained) {
  const auto rank = Start({});
  for (uint64_t step = kFirstStep; step < kFirstStep + kSteps; ++step) {
    EXPECT_THAT(rank->EnqueueStep(step), IsOk());
  }
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep + kSteps),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("drained")));
  EXPECT_THAT(rank->End(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(RingExecutorTest, AWorkerThatEndsIsUnavailableToItsTrainer) {
  const auto rank = Start({.ranks = 2, .rank = 0});
  // It waits for its peer, or is not taken any more.
  const uint64_t begun = rank->Submit(SubmissionKind::kBeginStep, kFirstStep);
  const uint64_t pass = rank->Submit(SubmissionKind::kForward, kFirstStep);
  EXPECT_THAT(rank->End(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  const auto gone = StatusIs(absl::StatusCode::kUnavailable,
                             HasSubstr("the worker has ended the session: "));
  EXPECT_THAT(rank->trainer().Wait(begun), gone);
  EXPECT_THAT(rank->trainer().Wait(pass), gone);
}

// ABORTED is for steps alone that can be done again.
TEST_F(RingExecutorTest, WithoutFurtherStepsTheSessionIsOver) {
  const auto rank = Start({.reconfigured = true});
  for (uint64_t step = kFirstStep; step < kFirstStep + kSteps; ++step) {
    EXPECT_THAT(rank->EnqueueStep(step), IsOk());
  }
  const auto over =
      StatusIs(absl::StatusCode::kFailedPrecondition, "the job was reconfigured");
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep + kSteps), over);
  EXPECT_THAT(rank->Ask(SubmissionKind::kBeginStep, kFirstStep + kSteps), over);
  EXPECT_THAT(rank->End(), over);
}

}  // namespace
}  // namespace evenpack::worker
