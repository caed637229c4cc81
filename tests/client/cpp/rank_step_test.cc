#include "client/cpp/rank_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/verify_step.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RankStepTest : public ::testing::Test {
 protected:
  absl::StatusOr<RankStep> Read(const v1::Step& message) const {
    return RankStep::FromMessage(message,
                                 std::make_shared<const v1::JobSpec>(history_.spec()));
  }

  const TestHistory history_{3};
  const v1::Step message_ = history_.Step(2, 1).step();
};

TEST_F(RankStepTest, SaysWhatTheMessageSays) {
  v1::Step message = message_;
  message.set_epoch(4);
  message.set_kind(v1::STEP_KIND_DRAIN);
  v1::StepTotals& totals = *message.mutable_totals();
  totals.set_padding(2);
  totals.set_loss_tokens(3);
  totals.set_sum_squared_lengths(4);
  totals.set_max_workload_ns(5);
  totals.set_total_workload_ns(6);
  const absl::StatusOr<RankStep> step = Read(message);
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ(step->index(), 2U);
  EXPECT_EQ(step->epoch(), 4U);
  EXPECT_EQ(step->kind(), StepKind::kDrain);
  EXPECT_EQ(step->dp_rank(), 1U);
  ASSERT_THAT(step->micro_batches(), SizeIs(2));
  EXPECT_EQ(step->micro_batches()[0].index(), 2U);
  EXPECT_EQ(step->micro_batches()[1].index(), 3U);
  EXPECT_EQ(step->micro_batches()[0].layout(), v1::LAYOUT_NATIVE);
  EXPECT_THAT(step->micro_batch_digests(), SizeIs(4));
  EXPECT_EQ(step->digest(), history_.DigestBefore(3));
  EXPECT_EQ(step->previous_digest(), history_.DigestBefore(2));
  EXPECT_EQ(step->totals(), (StepTotals{message.totals().tokens(), 2, 3, 4, 5, 6, 4}));
  EXPECT_EQ(step->spec().streams(0).name(), "web");
}

TEST_F(RankStepTest, CopiesShareTheMicroBatches) {
  absl::StatusOr<RankStep> step = Read(message_);
  ASSERT_THAT(step, IsOk());
  const RankStep copy = *step;
  EXPECT_EQ(copy.micro_batches().data(), step->micro_batches().data());
}

TEST_F(RankStepTest, OfACpRankIsWhatComesWhereThatIsAskedFor) {
  const absl::StatusOr<RankStep> whole = Read(message_);
  ASSERT_THAT(whole, IsOk());
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const absl::StatusOr<RankStep> asked = Read(history_.Step(2, 1, rank).step());
    ASSERT_THAT(asked, IsOk());
    const absl::StatusOr<RankStep> step = whole->OfCpRank(rank);
    ASSERT_THAT(step, IsOk());
    EXPECT_THAT(VerifyStep(*step, history_.DigestBefore(2)), IsOk());
    EXPECT_EQ(step->digest(), asked->digest());
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(step->micro_batches()[i].cp_rank(), rank);
      EXPECT_EQ(step->micro_batches()[i].own_slices(),
                asked->micro_batches()[i].own_slices());
    }
    EXPECT_EQ(whole->micro_batches()[0].cp_rank(), std::nullopt);
    EXPECT_THAT(step->OfCpRank(rank), IsOk());
    EXPECT_THAT(step->OfCpRank(1 - rank),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("for which the step came")));
  }
  EXPECT_THAT(whole->OfCpRank(2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cp_rank: 2 is not accepted; accepted: 0 to 1")));
}

TEST_F(RankStepTest, KnowsItsSizeInMemory) {
  const absl::StatusOr<RankStep> step = Read(message_);
  ASSERT_THAT(step, IsOk());
  size_t views = 0;
  for (const MicroBatchView& view : step->micro_batches()) {
    EXPECT_GE(view.memory_bytes(),
              sizeof(view) + view.documents().size() * sizeof(Document));
    views += view.memory_bytes();
  }
  EXPECT_GE(step->memory_bytes(), views + 4 * sizeof(Digest128));
  EXPECT_LT(step->memory_bytes(), views + 1000);
}

TEST_F(RankStepTest, RefusesWhatIsNoStep) {
  const auto code = absl::StatusCode::kDataLoss;
  v1::Step message = message_;
  message.set_kind(v1::STEP_KIND_UNSPECIFIED);
  EXPECT_THAT(Read(message), StatusIs(code, HasSubstr("step 2: kind is 0")));
  message = message_;
  message.mutable_digest()->pop_back();
  EXPECT_THAT(Read(message), StatusIs(code, HasSubstr("have 15, 16 and 64 bytes")));
  message = message_;
  message.clear_previous_digest();
  EXPECT_THAT(Read(message), StatusIs(code, HasSubstr("have 16, 0 and 64 bytes")));
  message = message_;
  message.mutable_micro_batch_digests()->push_back('x');
  EXPECT_THAT(Read(message), StatusIs(code, HasSubstr("have 16, 16 and 65 bytes")));
  message = message_;
  message.mutable_micro_batches(1)->set_tokens(1);
  EXPECT_THAT(Read(message),
              StatusIs(code, HasSubstr("step 2, micro-batch 3: tokens")));
}

}  // namespace
}  // namespace evenpack::client
