#include "client/cpp/verify_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/plan_digest.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using ::testing::AllOf;
using ::testing::HasSubstr;

class VerifyStepTest : public ::testing::Test {
 protected:
  absl::Status Verify(const v1::Step& message, const Digest128& previous) const {
    const absl::StatusOr<RankStep> step = RankStep::FromMessage(
        message, std::make_shared<const v1::JobSpec>(history_.spec()));
    EXPECT_THAT(step, IsOk());
    return VerifyStep(*step, previous);
  }

  // Rank 1's part of step 2, with slices of cp_rank 1, after a change.
  absl::Status Changed(const std::function<void(v1::Step&)>& change) const {
    v1::Step message = history_.Step(2, 1, 1).step();
    change(message);
    return Verify(message, history_.DigestBefore(2));
  }

  const TestHistory history_{3};
};

constexpr auto kWrong = absl::StatusCode::kDataLoss;

TEST_F(VerifyStepTest, AcceptsEveryRanksPartOfEveryStep) {
  for (uint64_t index = 0; index < history_.size(); ++index) {
    for (const uint32_t dp_rank : {0U, 1U}) {
      for (const std::optional<uint32_t> cp_rank :
           {std::optional<uint32_t>(), {0U}, {1U}}) {
        EXPECT_THAT(Verify(history_.Step(index, dp_rank, cp_rank).step(),
                           history_.DigestBefore(index)),
                    IsOk());
      }
    }
  }
}

TEST_F(VerifyStepTest, FindsAStepOfAnotherHistory) {
  EXPECT_THAT(Verify(history_.Step(2).step(), history_.DigestBefore(1)),
              StatusIs(kWrong, AllOf(HasSubstr("step 2: follows"),
                                     HasSubstr(ToHex(history_.DigestBefore(1))))));
}

TEST_F(VerifyStepTest, FindsADigestThatIsNotThatOfTheMicroBatches) {
  EXPECT_THAT(Changed([](v1::Step& m) { (*m.mutable_digest())[3] ^= 1; }),
              StatusIs(kWrong, HasSubstr("step 2: digest of its micro-batches is")));
  EXPECT_THAT(Changed([](v1::Step& m) { (*m.mutable_micro_batch_digests())[0] ^= 1; }),
              StatusIs(kWrong, HasSubstr("step 2: digest of its micro-batches is")));
}

TEST_F(VerifyStepTest, FindsDocumentsThatAreOthers) {
  EXPECT_THAT(
      Changed([](v1::Step& m) {
        v1::Documents& documents = *m.mutable_micro_batches(1)->mutable_documents();
        documents.set_sequence(0, documents.sequence(0) + 1);
      }),
      StatusIs(kWrong, HasSubstr("step 2, micro-batch 3: digest of the documents is")));
}

// A micro-batch that is whole in itself, but not the one that the step is made of.
TEST_F(VerifyStepTest, FindsAMicroBatchThatIsNotTheSteps) {
  EXPECT_THAT(
      Changed([](v1::Step& m) {
        v1::MicroBatch& micro_batch = *m.mutable_micro_batches(1);
        micro_batch.mutable_documents()->set_sequence(0, 999);
        MicroBatch changed =
            MicroBatchView::FromMessage(micro_batch, v1::LAYOUT_NATIVE)->micro_batch();
        micro_batch.set_digest(DigestBytes(MicroBatchDigest(changed)));
      }),
      StatusIs(kWrong, HasSubstr("step 2, micro-batch 3: digest of the documents is")));
}

TEST_F(VerifyStepTest, FindsAMicroBatchOfAnotherRank) {
  EXPECT_THAT(Changed([](v1::Step& m) { m.set_dp_rank(0); }),
              StatusIs(kWrong, HasSubstr("step 2, micro-batch 2: came where "
                                         "micro-batch 0 of 4 is expected")));
  EXPECT_THAT(
      Changed([](v1::Step& m) { m.mutable_micro_batches()->SwapElements(0, 1); }),
      StatusIs(kWrong, HasSubstr("micro-batch 3: came where micro-batch 2")));
  EXPECT_THAT(Changed([](v1::Step& m) {
                m.set_dp_rank(2);
                m.mutable_micro_batches(0)->set_index(4);
              }),
              StatusIs(kWrong, HasSubstr("came where micro-batch 4 of 4")));
}

TEST_F(VerifyStepTest, FindsAShardPlanThatIsAnother) {
  EXPECT_THAT(
      Changed([](v1::Step& m) {
        v1::ShardPlan& plan = *m.mutable_micro_batches(1)->mutable_plan();
        plan.set_cursor(0, plan.cursor(0) ^ 1);
      }),
      StatusIs(kWrong,
               HasSubstr("step 2, micro-batch 3: digest of the shard plan is")));
}

TEST_F(VerifyStepTest, FindsSlicesThatAreOthers) {
  EXPECT_THAT(
      Changed([](v1::Step& m) {
        m.mutable_micro_batches(1)->mutable_slices()->set_front_slices(0);
      }),
      StatusIs(kWrong, HasSubstr("step 2, micro-batch 3: digest of the slices is")));
}

// With digests that agree.
TEST_F(VerifyStepTest, FindsSlicesThatThePlanDoesNotGive) {
  EXPECT_THAT(
      Changed([](v1::Step& m) {
        v1::RankSlices& slices = *m.mutable_micro_batches(1)->mutable_slices();
        slices.set_cp_rank(0);
        RankSlices other =
            MicroBatchView::FromMessage(m.micro_batches(1), v1::LAYOUT_NATIVE)
                ->own_slices();
        slices.set_digest(DigestBytes(RankSlicesDigest(0, other)));
      }),
      StatusIs(kWrong, HasSubstr("step 2, micro-batch 3: slices of cp_rank 0 are not "
                                 "those of the shard plan")));
}

}  // namespace
}  // namespace evenpack::client
