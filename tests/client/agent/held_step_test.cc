#include "client/agent/held_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::HasSubstr;

TEST(HeldStepTest, EachViewIsByteForByteWhatTheServerSends) {
  const TestHistory history(12);
  for (uint64_t index = 0; index < history.size(); ++index) {
    for (uint32_t dp_rank = 0; dp_rank < 2; ++dp_rank) {
      const auto held = HeldStep::Whole(history.Step(index, dp_rank).step());
      ASSERT_THAT(held, IsOk());
      for (const std::optional<uint32_t> cp_rank :
           {std::optional<uint32_t>(), std::optional(0U), std::optional(1U)}) {
        const auto view = (*held)->View(cp_rank);
        ASSERT_THAT(view, IsOk());
        EXPECT_EQ(**view, history.Step(index, dp_rank, cp_rank).SerializeAsString());
        // Made once.
        EXPECT_EQ(*view, *(*held)->View(cp_rank));
      }
    }
  }
}

TEST(HeldStepTest, KnowsItsPlaceInTheHistory) {
  const TestHistory history(3, 5);
  const auto held = HeldStep::Whole(history.Step(2).step());
  ASSERT_THAT(held, IsOk());
  EXPECT_EQ((*held)->index(), 2U);
  EXPECT_EQ((*held)->epoch(), 5U);
  EXPECT_EQ((*held)->previous_digest(), history.DigestBefore(2));
  EXPECT_EQ((*held)->digest(), history.DigestBefore(3));
  EXPECT_EQ((*held)->bytes(), history.Step(2).ByteSizeLong());
}

TEST(HeldStepTest, AStepOfOneViewStaysWhatItIs) {
  const TestHistory history(1);
  const auto held = HeldStep::OneView(history.Step(0, 0, 1).step());
  ASSERT_THAT(held, IsOk());
  EXPECT_EQ(**(*held)->View(1), history.Step(0, 0, 1).SerializeAsString());
}

TEST(HeldStepTest, ARankThatTheEpochDoesNotHaveGetsNoSlices) {
  const TestHistory history(1);
  const auto held = HeldStep::Whole(history.Step(0).step());
  ASSERT_THAT(held, IsOk());
  EXPECT_EQ(**(*held)->View(7), history.Step(0).SerializeAsString());
}

// The first micro-batch that has a document of at least this many tokens.
v1::MicroBatch& OneWithTokens(v1::Step& step) {
  for (v1::MicroBatch& micro_batch : *step.mutable_micro_batches()) {
    if (micro_batch.tokens() > 0) return micro_batch;
  }
  return *step.mutable_micro_batches(0);
}

TEST(HeldStepTest, TokenIdsOfAViewAreThoseOfItsSlicesInTheirOrder) {
  v1::Step step = TestHistory(1).Step(0).step();
  v1::MicroBatch& micro_batch = OneWithTokens(step);
  // The id of each token is its place in the micro-batch.
  std::string ids;
  for (uint64_t i = 0; i < micro_batch.tokens(); ++i) {
    ids += {static_cast<char>(i), static_cast<char>(i >> 8), 0, 0};
  }
  micro_batch.mutable_documents()->set_token_ids(ids);
  std::vector<uint64_t> starts = {0};
  for (const uint32_t length : micro_batch.documents().length()) {
    starts.push_back(starts.back() + length);
  }
  for (uint32_t cp_rank = 0; cp_rank < 2; ++cp_rank) {
    v1::Step view = step;
    ASSERT_THAT(TakeView(cp_rank, view), IsOk());
    const v1::MicroBatch& of_rank = OneWithTokens(view);
    std::string expected;
    for (int i = 0; i < of_rank.slices().document_size(); ++i) {
      const uint64_t start = starts[of_rank.slices().document(i)];
      for (uint64_t at = start + of_rank.slices().begin(i);
           at < start + of_rank.slices().end(i); ++at) {
        expected += {static_cast<char>(at), static_cast<char>(at >> 8), 0, 0};
      }
    }
    EXPECT_EQ(of_rank.documents().token_ids(), expected);
  }
}

TEST(HeldStepTest, DamageIsNamed) {
  v1::Step step = TestHistory(1).Step(0).step();
  v1::MicroBatch& micro_batch = OneWithTokens(step);
  micro_batch.mutable_documents()->set_token_ids("abc");
  EXPECT_THAT(TakeView(0, step),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("documents.token_ids has 3 bytes")));
  micro_batch.mutable_plan()->set_context_parallel(0);
  const auto held = HeldStep::Whole(step);
  ASSERT_THAT(held, IsOk());
  EXPECT_THAT((*held)->View(0), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("plan.context_parallel is 0")));
  step.set_digest("short");
  EXPECT_THAT(HeldStep::Whole(step),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("16 bytes")));
}

}  // namespace
}  // namespace evenpack::agent
