#include "server/service/step_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/plan_digest.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/made_tokens.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MakeDocuments;
using testing::ServiceSpec;
using ::testing::SizeIs;
using testing::StatusIs;

using StepPointer = std::shared_ptr<const PublishedStep>;

MicroBatch MakeMicroBatch(const std::vector<Document>& documents) {
  MicroBatch micro_batch;
  micro_batch.documents = documents;
  for (const Document& document : documents) micro_batch.tokens += document.length;
  micro_batch.workload_ns = static_cast<int64_t>(1000 * micro_batch.tokens);
  micro_batch.sharding = Sharding::kPerDocument;
  return micro_batch;
}

// A step of ServiceSpec() whose micro-batches have these documents.
StepPointer MakeStep(const std::vector<std::vector<Document>>& documents,
                     const v1::JobSpec& spec = ServiceSpec()) {
  Step step;
  step.index = 7;
  step.epoch = 3;
  step.kind = StepKind::kDrain;
  for (const auto& of_one : documents) {
    step.micro_batches.push_back(MakeMicroBatch(of_one));
    step.micro_batches.back().sharding = FromProto(spec)->sharding;
  }
  AddDigests(step);
  step.digest = {70, 71};
  return Publish(std::move(step), {60, 61},
                 std::make_shared<const JobSpec>(FromProto(spec).value()), {})
      .value();
}

StepPointer PlainStep() {
  return MakeStep(
      {MakeDocuments({50, 40}), MakeDocuments({31}), MakeDocuments({8}), {}});
}

v1::Step ToStep(const StepPointer& step, const StepView& view) {
  v1::Step told;
  ToProto(*step, view, told);
  return told;
}

TEST(StepConversionTest, ARankGetsItsMicroBatchesAndWhatIsOfTheWholeStep) {
  const StepPointer step = PlainStep();
  const v1::Step first = ToStep(step, {0, {}});
  const v1::Step second = ToStep(step, {1, {}});
  EXPECT_EQ(first.dp_rank(), 0U);
  ASSERT_EQ(first.micro_batches_size(), 2);
  EXPECT_EQ(first.micro_batches(0).index(), 0U);
  EXPECT_EQ(first.micro_batches(1).index(), 1U);
  ASSERT_EQ(second.micro_batches_size(), 2);
  EXPECT_EQ(second.dp_rank(), 1U);
  EXPECT_EQ(second.micro_batches(0).index(), 2U);
  EXPECT_EQ(second.micro_batches(1).index(), 3U);
  EXPECT_THAT(second.micro_batches(1).documents().sequence(), IsEmpty());
  std::string digests;
  for (const MicroBatch& micro_batch : step->step.micro_batches) {
    AppendDigest(MicroBatchDigest(micro_batch), digests);
  }
  for (const v1::Step& told : {first, second}) {
    EXPECT_EQ(told.index(), 7U);
    EXPECT_EQ(told.epoch(), 3U);
    EXPECT_EQ(told.kind(), v1::STEP_KIND_DRAIN);
    EXPECT_EQ(told.digest(), DigestBytes({70, 71}));
    EXPECT_EQ(told.previous_digest(), DigestBytes({60, 61}));
    EXPECT_EQ(told.micro_batch_digests(), digests);
    EXPECT_EQ(told.totals().tokens(), 129U);
    EXPECT_EQ(told.totals().padding(), 0U);
    EXPECT_EQ(told.totals().loss_tokens(), 129U);
    EXPECT_EQ(told.totals().sum_squared_lengths(), 2500U + 1600 + 961 + 64);
    EXPECT_EQ(told.totals().max_workload_ns(), 90'000);
    EXPECT_EQ(told.totals().total_workload_ns(), 129'000);
    EXPECT_EQ(told.totals().micro_batches(), 4U);
  }
}

TEST(StepConversionTest, TokensAreThoseOfTheRanksSlicesOrOfTheWhole) {
  const StepPointer plain = PlainStep();
  PublishedStep step = *plain;
  std::vector<std::vector<PieceTokens>> pieces;
  for (const MicroBatch& micro_batch : step.step.micro_batches) {
    auto& of_one = pieces.emplace_back();
    for (const Document& piece : micro_batch.documents) {
      const auto batch = std::make_shared<const TokenBatch>(
          piece.sequence, std::vector{piece.length}, testing::MadeTokens(piece));
      of_one.push_back({batch, batch->TokensOf(piece.sequence)});
    }
  }
  step.tokens = std::make_shared<const StepPayload>(pieces);
  v1::Step whole;
  ToProto(step, {0, {}}, whole);
  v1::Step part;
  ToProto(step, {0, 1}, part);
  for (int i = 0; i < 2; ++i) {
    const auto index = static_cast<size_t>(i);
    EXPECT_EQ(whole.micro_batches(i).documents().token_ids(),
              step.tokens->Whole(index));
    const std::string& of_rank = part.micro_batches(i).documents().token_ids();
    EXPECT_EQ(of_rank, step.tokens->Of(index, ExpandRank(step.plans[index], 1)));
    EXPECT_EQ(of_rank.size(), part.micro_batches(i).slices().tokens() * kTokenBytes);
  }
  v1::Step without;
  ToProto(*plain, {0, 1}, without);
  EXPECT_EQ(without.micro_batches(0).documents().token_ids(), "");
}

TEST(StepConversionTest, KindsKeepTheirNames) {
  for (const StepKind kind :
       {StepKind::kFullBatch, StepKind::kBacklog, StepKind::kDrain}) {
    PublishedStep step = *PlainStep();
    step.step.kind = kind;
    v1::Step told;
    ToProto(step, {}, told);
    EXPECT_EQ(v1::StepKind_Name(told.kind()),
              absl::StrCat("STEP_KIND_", absl::AsciiStrToUpper(StepKindName(kind))));
  }
}

TEST(StepConversionTest, ColumnsOfDefaultsAreLeftOut) {
  const v1::Step told = ToStep(PlainStep(), {0, {}});
  const v1::Documents& documents = told.micro_batches(0).documents();
  EXPECT_THAT(documents.sequence(), ElementsAre(0, 1));
  EXPECT_THAT(documents.length(), ElementsAre(50, 40));
  EXPECT_THAT(documents.stream(), IsEmpty());
  EXPECT_THAT(documents.id(), IsEmpty());
  EXPECT_THAT(documents.offset(), IsEmpty());
  EXPECT_THAT(documents.document_length(), IsEmpty());
  EXPECT_THAT(documents.loss_tokens(), IsEmpty());
  EXPECT_THAT(documents.source(), IsEmpty());
}

TEST(StepConversionTest, AColumnWithOneOtherValueIsWhole) {
  std::vector<Document> documents = MakeDocuments({50, 40});
  documents[1].stream = 1;
  documents[1].id = 99;
  documents[1].offset = 5;
  documents[1].document_length = 45;
  documents[1].loss_tokens = 30;
  documents[1].source = 4;
  const v1::Step told = ToStep(MakeStep({documents, {}, {}, {}}), {0, {}});
  const v1::MicroBatch& micro_batch = told.micro_batches(0);
  EXPECT_THAT(micro_batch.documents().stream(), ElementsAre(0, 1));
  EXPECT_THAT(micro_batch.documents().id(), ElementsAre(0, 99));
  EXPECT_THAT(micro_batch.documents().offset(), ElementsAre(0, 5));
  EXPECT_THAT(micro_batch.documents().document_length(), ElementsAre(50, 45));
  EXPECT_THAT(micro_batch.documents().loss_tokens(), ElementsAre(50, 30));
  EXPECT_THAT(micro_batch.documents().source(), ElementsAre(0, 4));
  EXPECT_EQ(micro_batch.tokens(), 90U);
  EXPECT_EQ(micro_batch.loss_tokens(), 80U);
  EXPECT_EQ(micro_batch.sum_squared_lengths(), 4100U);
  EXPECT_EQ(micro_batch.workload_ns(), 90'000);
}

TEST(StepConversionTest, DigestsAreThoseOfTheMicroBatchItsPlanAndTheSlices) {
  const StepPointer step = PlainStep();
  const v1::Step told = ToStep(step, {0, 1});
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(i);
    const v1::MicroBatch& micro_batch = told.micro_batches(i);
    EXPECT_EQ(micro_batch.digest(),
              DigestBytes(MicroBatchDigest(step->step.micro_batches[at])));
    EXPECT_EQ(micro_batch.plan().digest(), DigestBytes(PlanDigest(step->plans[at])));
    EXPECT_EQ(micro_batch.slices().digest(),
              DigestBytes(RankSlicesDigest(1, ExpandRank(step->plans[at], 1))));
  }
}

TEST(StepConversionTest, APerDocumentPlanIsColumnsByDocument) {
  const v1::Step told = ToStep(PlainStep(), {0, {}});
  // 2 CP ranks: 4 slots. 50 = 4 * 12 + 2 and 40 = 4 * 10; 31 = 4 * 7 + 3.
  const v1::ShardPlan& even = told.micro_batches(0).plan();
  EXPECT_EQ(even.sharding(), v1::SHARDING_PER_DOCUMENT);
  EXPECT_EQ(even.context_parallel(), 2U);
  EXPECT_EQ(even.pad_multiple(), 0U);
  EXPECT_EQ(even.padded_tokens(), 90U);
  EXPECT_THAT(even.slot_starts(), IsEmpty());
  EXPECT_THAT(even.slot_tokens(), ElementsAre(12, 10));
  EXPECT_THAT(even.left_over(), ElementsAre(2, 0));
  EXPECT_THAT(even.rank_padding(), IsEmpty());
  ASSERT_THAT(even.rank_tokens(), SizeIs(2));
  EXPECT_EQ(even.rank_tokens(0) + even.rank_tokens(1), 90U);
  EXPECT_FALSE(told.micro_batches(0).has_slices());
  // Nothing is left over of the one document of the other rank's first micro-batch.
  const v1::Step other = ToStep(PlainStep(), {1, {}});
  const v1::ShardPlan& whole = other.micro_batches(0).plan();
  EXPECT_THAT(whole.slot_tokens(), ElementsAre(2));
  EXPECT_THAT(whole.left_over(), IsEmpty());
  EXPECT_THAT(whole.cursor(), IsEmpty());
}

TEST(StepConversionTest, APerSequencePlanIsItsSlots) {
  v1::JobSpec spec = ServiceSpec();
  spec.set_sharding(v1::SHARDING_PER_SEQUENCE);
  const StepPointer step = MakeStep({MakeDocuments({50, 40}), {}, {}, {}}, spec);
  const v1::Step told = ToStep(step, {0, {}});
  const v1::ShardPlan& plan = told.micro_batches(0).plan();
  EXPECT_EQ(plan.sharding(), v1::SHARDING_PER_SEQUENCE);
  EXPECT_THAT(plan.slot_starts(),
              ::testing::ElementsAreArray(step->plans[0].slot_starts));
  EXPECT_THAT(plan.slot_starts(), SizeIs(5));
  EXPECT_THAT(plan.slot_tokens(), IsEmpty());
}

TEST(StepConversionTest, PaddingIsThatOfEachRank) {
  v1::JobSpec spec = ServiceSpec();
  spec.mutable_consumer_layout()->set_layout(v1::LAYOUT_MEGATRON_THD);
  Step step;
  step.micro_batches.assign(4, MakeMicroBatch({}));
  step.micro_batches[0] = MakeMicroBatch(MakeDocuments({47}));
  step.micro_batches[0].padding = 1;
  const auto published =
      Publish(step, {}, std::make_shared<const JobSpec>(FromProto(spec).value()), {})
          .value();
  const v1::Step told = ToStep(published, {0, 0});
  const v1::MicroBatch& micro_batch = told.micro_batches(0);
  EXPECT_EQ(micro_batch.tokens(), 47U);
  EXPECT_EQ(micro_batch.padding(), 1U);
  EXPECT_EQ(told.totals().padding(), 1U);
  EXPECT_EQ(micro_batch.plan().padded_tokens(), 48U);
  EXPECT_EQ(micro_batch.plan().pad_multiple(), 4U);
  // The last slot is rank 0's.
  EXPECT_THAT(micro_batch.plan().rank_tokens(), ElementsAre(23, 24));
  EXPECT_THAT(micro_batch.plan().rank_padding(), ElementsAre(1, 0));
  EXPECT_EQ(micro_batch.slices().tokens(), 23U);
  EXPECT_EQ(micro_batch.slices().padding(), 1U);
}

TEST(StepConversionTest, SlicesAreThoseOfTheRankAskedFor) {
  const StepPointer step = PlainStep();
  uint64_t tokens = 0;
  for (const uint32_t rank : {0U, 1U}) {
    const v1::Step told = ToStep(step, {0, rank});
    const v1::RankSlices& slices = told.micro_batches(0).slices();
    const RankSlices expected = ExpandRank(step->plans[0], rank);
    EXPECT_EQ(slices.cp_rank(), rank);
    EXPECT_THAT(slices.document(), ::testing::ElementsAreArray(expected.document));
    EXPECT_THAT(slices.begin(), ::testing::ElementsAreArray(expected.begin));
    EXPECT_THAT(slices.end(), ::testing::ElementsAreArray(expected.end));
    EXPECT_EQ(slices.front_slices(), expected.front_slices);
    EXPECT_EQ(slices.tokens(), expected.tokens);
    tokens += slices.tokens();
  }
  EXPECT_EQ(tokens, 90U);
}

TEST(StepConversionTest, RanksThatTheStepDoesNotHaveGetNothingOfTheirOwn) {
  const v1::Step no_dp = ToStep(PlainStep(), {2, {}});
  EXPECT_EQ(no_dp.dp_rank(), 2U);
  EXPECT_EQ(no_dp.micro_batches_size(), 0);
  EXPECT_EQ(no_dp.micro_batch_digests().size(), 64U);
  EXPECT_EQ(no_dp.totals().tokens(), 129U);
  const v1::Step no_cp = ToStep(PlainStep(), {0, 2});
  ASSERT_EQ(no_cp.micro_batches_size(), 2);
  EXPECT_FALSE(no_cp.micro_batches(0).has_slices());
}

TEST(StepConversionTest, AViewIsOfTheRanksThatThereAre) {
  const JobSpec spec = FromProto(ServiceSpec()).value();
  EXPECT_THAT(CheckView({1, {}}, spec), IsOk());
  EXPECT_THAT(CheckView({1, 1}, spec), IsOk());
  EXPECT_THAT(CheckView({2, 1}, spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "dp_rank: 2 is not accepted; accepted: 0 to 1"));
  EXPECT_THAT(CheckView({0, 2}, spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cp_rank: 2 is not accepted; accepted: 0 to 1"));
}

}  // namespace
}  // namespace evenpack
