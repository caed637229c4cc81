#include "client/cpp/micro_batch_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/token_ids.h"
#include "server/core/sharding/pad_end.h"
#include "server/core/sharding/plan_digest.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::MakeMicroBatch;
using ::evenpack::testing::MakePlan;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::ToMessage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MicroBatchView ViewOf(const v1::MicroBatch& message) {
  absl::StatusOr<MicroBatchView> view =
      MicroBatchView::FromMessage(message, v1::LAYOUT_MEGATRON_THD);
  EXPECT_THAT(view, IsOk());
  return *view;
}

MicroBatchView ViewOf(const std::vector<uint32_t>& lengths, const ShardPlan& plan,
                      std::optional<uint32_t> cp_rank = std::nullopt) {
  return ViewOf(ToMessage(MakeMicroBatch(lengths, plan, 40), plan, 6, cp_rank));
}

void SetTokens(const std::vector<uint32_t>& token_ids, v1::MicroBatch& message) {
  std::string& bytes = *message.mutable_documents()->mutable_token_ids();
  bytes.clear();
  AppendTokenIds(token_ids, bytes);
}

TEST(MicroBatchView, SaysWhatTheMessageSays) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, lengths, 2, 1);
  const MicroBatch micro_batch = MakeMicroBatch(lengths, plan, 40);
  const MicroBatchView view = ViewOf(lengths, plan, 1);
  EXPECT_EQ(view.index(), 6U);
  EXPECT_EQ(view.tokens(), 10U);
  EXPECT_EQ(view.padding(), 2U);
  EXPECT_EQ(view.padded_tokens(), 12U);
  EXPECT_EQ(view.loss_tokens(), 10U);
  EXPECT_EQ(view.sum_squared_lengths(), 25U + 16 + 1);
  EXPECT_EQ(view.workload_ns(), 10'000);
  EXPECT_EQ(view.layout(), v1::LAYOUT_MEGATRON_THD);
  EXPECT_EQ(view.sharding(), Sharding::kPerSequence);
  EXPECT_EQ(view.context_parallel(), 2U);
  EXPECT_EQ(view.plan(), plan);
  EXPECT_THAT(view.rank_tokens(), ElementsAre(4, 6));
  EXPECT_THAT(view.rank_padding(), ElementsAre(2, 0));
  EXPECT_EQ(view.cp_rank(), 1U);
  EXPECT_EQ(view.own_slices(), ExpandRank(plan, 1));
  EXPECT_EQ(view.digest(), MicroBatchDigest(micro_batch));
  EXPECT_EQ(view.plan_digest(), PlanDigest(plan));
  EXPECT_EQ(view.slices_digest(), RankSlicesDigest(1, ExpandRank(plan, 1)));
  EXPECT_EQ(view.micro_batch(), micro_batch);
}

TEST(MicroBatchView, ColumnsLeftOutHaveTheirDefaults) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {5, 4}, 1);
  v1::MicroBatch message = ToMessage(MakeMicroBatch({5, 4}, plan, 40), plan, 0, {});
  message.mutable_documents()->clear_id();
  const MicroBatchView view = ViewOf(message);
  const Document& document = view.documents()[1];
  EXPECT_EQ(document.sequence, 41U);
  EXPECT_EQ(document.id, 41U);
  EXPECT_EQ(document.stream, 0U);
  EXPECT_EQ(document.length, 4U);
  EXPECT_EQ(document.offset, 0U);
  EXPECT_EQ(document.document_length, 4U);
  EXPECT_EQ(document.loss_tokens, 4U);
  EXPECT_EQ(document.source, 0U);
}

TEST(MicroBatchView, ColumnsGivenAreTaken) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {5}, 1);
  v1::MicroBatch message = ToMessage(MakeMicroBatch({5}, plan, 40), plan, 0, {});
  v1::Documents& documents = *message.mutable_documents();
  documents.add_stream(2);
  documents.add_offset(10);
  documents.add_document_length(16);
  documents.add_loss_tokens(3);
  documents.add_source(9);
  message.set_loss_tokens(3);
  const MicroBatchView view = ViewOf(message);
  const Document& document = view.documents()[0];
  EXPECT_EQ(document.stream, 2U);
  EXPECT_EQ(document.id, 1040U);
  EXPECT_EQ(document.offset, 10U);
  EXPECT_EQ(document.document_length, 16U);
  EXPECT_EQ(document.loss_tokens, 3U);
  EXPECT_EQ(document.source, 9U);
}

TEST(MicroBatchView, WithoutPaddingBothSequencesAreTheSame) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  const MicroBatchView view =
      ViewOf(lengths, MakePlan(Sharding::kPerDocument, lengths, 2));
  EXPECT_THAT(view.cu_seqlens(), ElementsAre(0, 5, 9, 10));
  EXPECT_EQ(view.cu_seqlens_padded(), view.cu_seqlens());
  EXPECT_EQ(view.max_seqlen(), 5);
  EXPECT_EQ(view.max_seqlen_padded(), 5);
  EXPECT_THAT(view.PositionIds(), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 0));
  EXPECT_EQ(view.PaddedPositionIds(), view.PositionIds());
  EXPECT_EQ(view.cp_rank(), std::nullopt);
  EXPECT_EQ(view.own_slices().size(), 0U);
}

TEST(MicroBatchView, ByDocumentEachDocumentIsPadded) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  const MicroBatchView view =
      ViewOf(lengths, MakePlan(Sharding::kPerDocument, lengths, 2, 1));
  EXPECT_EQ(view.padded_tokens(), 16U);
  EXPECT_THAT(view.cu_seqlens(), ElementsAre(0, 5, 9, 10));
  EXPECT_THAT(view.cu_seqlens_padded(), ElementsAre(0, 8, 12, 16));
  EXPECT_EQ(view.max_seqlen(), 5);
  EXPECT_EQ(view.max_seqlen_padded(), 8);
  EXPECT_THAT(view.PaddedPositionIds(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(view.rank_tokens(), ElementsAre(5, 5));
  EXPECT_THAT(view.rank_padding(), ElementsAre(3, 3));
}

TEST(MicroBatchView, BySequenceTheEndIsPadded) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kContiguous}) {
    const MicroBatchView view = ViewOf(lengths, MakePlan(sharding, lengths, 2, 1));
    EXPECT_THAT(view.cu_seqlens_padded(), ElementsAre(0, 5, 9, 12));
    EXPECT_EQ(view.max_seqlen_padded(), 5);
    EXPECT_THAT(view.PaddedPositionIds(),
                ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2));
  }
}

TEST(MicroBatchView, PaddingBeyondTheMultipleLiesBehindTheLastDocument) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument}) {
    ShardPlan plan = MakePlan(sharding, lengths, 2, 0);
    ASSERT_THAT(PadEnd(13, plan), IsOk());
    EXPECT_THAT(ViewOf(lengths, plan).cu_seqlens_padded(), ElementsAre(0, 5, 9, 13));
  }
  ShardPlan plan = MakePlan(Sharding::kPerDocument, lengths, 2, 1);
  ASSERT_THAT(PadEnd(24, plan), IsOk());
  const MicroBatchView view = ViewOf(lengths, plan);
  EXPECT_THAT(view.cu_seqlens_padded(), ElementsAre(0, 8, 12, 24));
  EXPECT_EQ(view.max_seqlen_padded(), 12);
}

TEST(MicroBatchView, AnEmptyMicroBatchHasNothing) {
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument}) {
    const MicroBatchView view = ViewOf({}, MakePlan(sharding, {}, 2), 0);
    EXPECT_THAT(view.documents(), IsEmpty());
    EXPECT_THAT(view.cu_seqlens(), ElementsAre(0));
    EXPECT_THAT(view.cu_seqlens_padded(), ElementsAre(0));
    EXPECT_EQ(view.max_seqlen(), 0);
    EXPECT_EQ(view.max_seqlen_padded(), 0);
    EXPECT_THAT(view.PositionIds(), IsEmpty());
    EXPECT_THAT(view.PaddedPositionIds(), IsEmpty());
    EXPECT_THAT(view.TokenIndices(view.own_slices()), IsEmpty());
    EXPECT_THAT(view.rank_tokens(), ElementsAre(0, 0));
  }
}

TEST(MicroBatchView, SlicesLieInBothSequencesAndAmongTheRanksTokens) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  const MicroBatchView view =
      ViewOf(lengths, MakePlan(Sharding::kPerDocument, lengths, 2, 1), 0);
  const RankSlices& slices = view.own_slices();
  EXPECT_THAT(slices.document, ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(slices.begin, ElementsAre(0, 0, 0, 3));
  EXPECT_THAT(slices.end, ElementsAre(2, 1, 1, 4));
  const SlicePositions positions = view.PositionsOf(slices);
  EXPECT_THAT(positions.sequence_begin, ElementsAre(0, 5, 9, 8));
  EXPECT_THAT(positions.padded_begin, ElementsAre(0, 8, 12, 11));
  EXPECT_THAT(positions.local_begin, ElementsAre(0, 2, 3, 4, 5));
  EXPECT_THAT(view.TokenIndices(slices), ElementsAre(0, 1, 5, 9, 8));
}

TEST(MicroBatchView, TheRanksTogetherHaveEveryTokenOnce) {
  const std::vector<uint32_t> lengths = {17, 1, 30, 4, 9};
  for (const Sharding sharding :
       {Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kContiguous}) {
    const MicroBatchView view = ViewOf(lengths, MakePlan(sharding, lengths, 3));
    std::vector<int> seen(61);
    for (uint32_t rank = 0; rank < 3; ++rank) {
      for (const int32_t token : view.TokenIndices(view.Slices(rank))) {
        ++seen[static_cast<size_t>(token)];
      }
    }
    EXPECT_EQ(seen, std::vector<int>(61, 1));
  }
}

TEST(MicroBatchView, RefusesMessagesThatDisagreeWithThemselves) {
  const std::vector<uint32_t> lengths = {5, 4, 1};
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, lengths, 2);
  const v1::MicroBatch whole = ToMessage(MakeMicroBatch(lengths, plan), plan, 6, 0);
  const std::vector<std::pair<std::string, std::function<void(v1::MicroBatch&)>>>
      damages = {
          {"documents.length has 4 entries; expected: 3",
           [](auto& m) { m.mutable_documents()->add_length(1); }},
          {"documents.id has 2 entries",
           [](auto& m) { m.mutable_documents()->mutable_id()->RemoveLast(); }},
          {"documents.stream has 1 entries",
           [](auto& m) { m.mutable_documents()->add_stream(1); }},
          {"documents.offset has 1 entries",
           [](auto& m) { m.mutable_documents()->add_offset(1); }},
          {"documents.document_length has 1 entries",
           [](auto& m) { m.mutable_documents()->add_document_length(1); }},
          {"documents.loss_tokens has 1 entries",
           [](auto& m) { m.mutable_documents()->add_loss_tokens(1); }},
          {"documents.source has 1 entries",
           [](auto& m) { m.mutable_documents()->add_source(1); }},
          {"document 1 has 0 tokens",
           [](auto& m) { m.mutable_documents()->set_length(1, 0); }},
          {"document 0 has 5 tokens from 0 on of 5, 6 of them in the loss",
           [](auto& m) {
             for (const uint32_t loss : {6U, 4U, 1U}) {
               m.mutable_documents()->add_loss_tokens(loss);
             }
           }},
          {"document 2 has 1 tokens from 4294967295 on of 1",
           [](auto& m) {
             for (const uint32_t offset : {0U, 0U, 4294967295U}) {
               m.mutable_documents()->add_offset(offset);
             }
           }},
          {"digest has 15 bytes", [](auto& m) { m.mutable_digest()->pop_back(); }},
          {"plan.sharding is 0", [](auto& m) { m.clear_plan(); }},
          {"plan.digest has 0 bytes",
           [](auto& m) { m.mutable_plan()->clear_digest(); }},
          {"entries of plan.rank_tokens is 3",
           [](auto& m) { m.mutable_plan()->add_rank_tokens(0); }},
          {"entries of plan.rank_padding is 3",
           [](auto& m) { m.mutable_plan()->add_rank_padding(0); }},
          {"sum of plan.rank_tokens is 9",
           [](auto& m) { m.mutable_plan()->set_rank_tokens(0, 4); }},
          {"slices.cp_rank is 2", [](auto& m) { m.mutable_slices()->set_cp_rank(2); }},
          {"slices.begin has", [](auto& m) { m.mutable_slices()->add_begin(0); }},
          {"slices.digest has 0 bytes",
           [](auto& m) { m.mutable_slices()->clear_digest(); }},
          {"tokens is 11; expected: 10", [](auto& m) { m.set_tokens(11); }},
          {"padding is 1; expected: 0", [](auto& m) { m.set_padding(1); }},
          {"loss_tokens is 9; expected: 10", [](auto& m) { m.set_loss_tokens(9); }},
          {"sum_squared_lengths is 43; expected: 42",
           [](auto& m) { m.set_sum_squared_lengths(43); }},
      };
  for (const auto& [says, done] : damages) {
    v1::MicroBatch message = whole;
    done(message);
    EXPECT_THAT(
        MicroBatchView::FromMessage(message, v1::LAYOUT_NATIVE),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("micro-batch 6: " + says)));
  }
}

TEST(MicroBatchView, PaddingOfTheRanksMayBeLeftOut) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {5}, 2);
  v1::MicroBatch message = ToMessage(MakeMicroBatch({5}, plan), plan, 0, {});
  message.mutable_plan()->clear_rank_padding();
  EXPECT_THAT(ViewOf(message).rank_padding(), ElementsAre(0, 0));
}

TEST(MicroBatchView, HasTheTokensThatCame) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {3, 2}, 2, 1);
  v1::MicroBatch message = ToMessage(MakeMicroBatch({3, 2}, plan), plan, 0, {});
  SetTokens({7, 8, 9, 4294967295, 1}, message);
  MicroBatchView view = ViewOf(message);
  EXPECT_THAT(view.token_ids(), ElementsAre(7, 8, 9, 4294967295, 1));
  EXPECT_TRUE(view.has_token_ids());

  // Of a rank with its slices.
  message = ToMessage(MakeMicroBatch({3, 2}, plan), plan, 0, 1);
  ASSERT_EQ(message.slices().tokens(), 3U);
  SetTokens({8, 9, 4294967295}, message);
  view = ViewOf(message);
  EXPECT_THAT(view.token_ids(), ElementsAre(8, 9, 4294967295));
  EXPECT_TRUE(view.has_token_ids());
}

TEST(MicroBatchView, HasNoTokensWhereNoneCame) {
  const std::vector<uint32_t> lengths = {3, 2};
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, lengths, 2);
  for (const std::optional<uint32_t> rank : {std::optional<uint32_t>(), {1}}) {
    EXPECT_THAT(ViewOf(lengths, plan, rank).token_ids(), IsEmpty());
    EXPECT_FALSE(ViewOf(lengths, plan, rank).has_token_ids());
  }
}

TEST(MicroBatchView, OfACpRankIsWhatComesWhereThatIsAskedFor) {
  const std::vector<uint32_t> lengths = {3, 2};
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, lengths, 2, 1);
  v1::MicroBatch message = ToMessage(MakeMicroBatch(lengths, plan), plan, 0, {});
  SetTokens({7, 8, 9, 4294967295, 1}, message);
  const MicroBatchView whole = ViewOf(message);
  message = ToMessage(MakeMicroBatch(lengths, plan), plan, 0, 1);
  SetTokens({9, 4294967295, 1}, message);
  const MicroBatchView asked = ViewOf(message);
  const MicroBatchView view = whole.OfCpRank(1);
  EXPECT_EQ(view.cp_rank(), 1U);
  EXPECT_EQ(view.own_slices(), asked.own_slices());
  EXPECT_EQ(view.slices_digest(), asked.slices_digest());
  EXPECT_EQ(view.token_ids(), asked.token_ids());
  EXPECT_TRUE(view.has_token_ids());
  EXPECT_EQ(view.micro_batch(), whole.micro_batch());
}

TEST(MicroBatchView, OfACpRankHasNoTokensWhereNoneCame) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {1}, 2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const MicroBatchView view = ViewOf({1}, plan).OfCpRank(rank);
    EXPECT_THAT(view.token_ids(), IsEmpty());
    EXPECT_EQ(view.has_token_ids(), ViewOf({1}, plan, rank).has_token_ids());
  }
}

TEST(MicroBatchView, NoTokensAreAllThatThereAreOfNothing) {
  EXPECT_TRUE(ViewOf({}, MakePlan(Sharding::kPerSequence, {}, 2)).has_token_ids());
  // One token, which is the last rank's.
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {1}, 2);
  int ranks_without = 0;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const MicroBatchView view = ViewOf({1}, plan, rank);
    EXPECT_EQ(view.has_token_ids(), view.own_slices().size() == 0);
    ranks_without += view.has_token_ids() ? 1 : 0;
  }
  EXPECT_EQ(ranks_without, 1);
}

TEST(MicroBatchView, RefusesAnotherNumberOfTokens) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {3, 2}, 2);
  const auto refused = [](const std::string& says) {
    return StatusIs(absl::StatusCode::kDataLoss,
                    HasSubstr("micro-batch 6: documents.token_ids has " + says));
  };
  for (const std::optional<uint32_t> rank : {std::optional<uint32_t>(), {0}}) {
    v1::MicroBatch message = ToMessage(MakeMicroBatch({3, 2}, plan), plan, 6, rank);
    const uint64_t tokens = rank ? message.slices().tokens() : 5;
    for (const uint64_t bytes : {tokens * 4 - 4, tokens * 4 - 1, tokens * 4 + 4}) {
      message.mutable_documents()->set_token_ids(std::string(bytes, 'x'));
      EXPECT_THAT(MicroBatchView::FromMessage(message, v1::LAYOUT_NATIVE),
                  refused(absl::StrCat(bytes, " bytes; expected: ", tokens * 4,
                                       ", for ", tokens, " tokens")));
    }
  }
  // What a rank is sent is counted by its slices, whatever they claim.
  v1::MicroBatch message = ToMessage(MakeMicroBatch({3, 2}, plan), plan, 6, 0);
  message.mutable_slices()->set_tokens(1);
  message.mutable_documents()->set_token_ids("1234");
  EXPECT_THAT(MicroBatchView::FromMessage(message, v1::LAYOUT_NATIVE),
              refused("4 bytes"));
}

TEST(MicroBatchView, TokensTakeMemory) {
  const ShardPlan plan = MakePlan(Sharding::kPerSequence, {1000}, 1);
  v1::MicroBatch message = ToMessage(MakeMicroBatch({1000}, plan), plan, 0, {});
  const size_t without = ViewOf(message).memory_bytes();
  SetTokens(std::vector<uint32_t>(1000), message);
  EXPECT_EQ(ViewOf(message).memory_bytes(), without + 4000);
}

}  // namespace
}  // namespace evenpack::client
