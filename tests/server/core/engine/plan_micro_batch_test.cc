#include "server/core/engine/plan_micro_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/core/engine/job_layout.h"
#include "server/core/packing/assignment.h"
#include "server/core/sharding/validate_plan.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;

JobSpec PlanSpec(Layout layout, Sharding sharding, uint32_t context) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 1000);
  spec.layout.kind = layout;
  spec.sharding = sharding;
  spec.context_parallel = context;
  return spec;
}

MicroBatch Pack(const JobSpec& spec, const std::vector<uint32_t>& lengths) {
  MicroBatch micro_batch;
  micro_batch.documents = testing::MakeDocuments(lengths);
  for (const uint32_t length : lengths) micro_batch.tokens += length;
  micro_batch.sharding = spec.sharding;
  Complete(PaddingRuleOf(spec), spec.workload, micro_batch);
  return micro_batch;
}

// What a consumer makes of a plan: where each padded document starts, and the end.
std::vector<uint64_t> PaddedStarts(const ShardPlan& plan) {
  std::vector<uint64_t> starts = {0};
  for (size_t i = 0; i + 1 < plan.documents(); ++i) {
    const uint64_t unit =
        plan.sharding == Sharding::kPerDocument && plan.pad_multiple != 0
            ? plan.pad_multiple
            : 1;
    starts.push_back(starts.back() + (plan.length(i) + unit - 1) / unit * unit);
  }
  starts.push_back(plan.padded_tokens);
  return starts;
}

struct Row {
  const char* what;
  JobSpec spec;
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> padded_starts;
  // Tokens and padding of each rank.
  std::vector<uint64_t> tokens;
  std::vector<uint64_t> padding;
};

void Expect(const Row& row) {
  const MicroBatch micro_batch = Pack(row.spec, row.lengths);
  const absl::StatusOr<ShardPlan> plan = PlanMicroBatch(row.spec, micro_batch);
  ASSERT_THAT(plan, IsOk()) << row.what;
  EXPECT_THAT(Validate(*plan, row.lengths), IsOk()) << row.what;
  EXPECT_EQ(plan->padded_tokens, micro_batch.tokens + micro_batch.padding) << row.what;
  EXPECT_EQ(PaddedStarts(*plan), row.padded_starts) << row.what;
  std::vector<uint64_t> tokens;
  std::vector<uint64_t> padding;
  for (const RankSlices& rank : ExpandAllRanks(*plan)) {
    tokens.push_back(rank.tokens);
    padding.push_back(rank.padding);
  }
  EXPECT_EQ(tokens, row.tokens) << row.what;
  EXPECT_EQ(padding, row.padding) << row.what;
}

TEST(PlanMicroBatchTest, GivesEachLayoutItsPaddedForm) {
  JobSpec shared = PlanSpec(Layout::kMegatronThd, Sharding::kPerDocument, 2);
  shared.tensor_parallel = 8;
  shared.layout.sequence_parallel = true;
  JobSpec fixed = PlanSpec(Layout::kTeThd, Sharding::kPerDocument, 2);
  fixed.layout.pad_tokens_to = 24;
  JobSpec ring = PlanSpec(Layout::kRingLlama3, Sharding::kContiguous, 2);
  ring.layout.shape_ladder = {16, 1000};
  JobSpec flat = PlanSpec(Layout::kHfFlat, Sharding::kPerSequence, 1);
  flat.tensor_parallel = 3;
  flat.layout.sequence_parallel = true;
  JobSpec native = PlanSpec(Layout::kNative, Sharding::kPerDocument, 2);
  native.layout.pad_tokens_to = 16;
  const Row rows[] = {
      {"native",
       PlanSpec(Layout::kNative, Sharding::kPerDocument, 2),
       {5, 6},
       {0, 5, 11},
       {5, 6},
       {0, 0}},
      {"native, padded at the end", native, {5, 6}, {0, 5, 16}, {5, 6}, {3, 2}},
      {"each document",
       PlanSpec(Layout::kMegatronThd, Sharding::kPerDocument, 2),
       {5, 6},
       {0, 8, 16},
       {4, 7},
       {4, 1}},
      {"each document, alone",
       PlanSpec(Layout::kMegatronThd, Sharding::kPerDocument, 1),
       {5, 6},
       {0, 5, 11},
       {11},
       {0}},
      {"the whole",
       PlanSpec(Layout::kTeThd, Sharding::kPerSequence, 2),
       {5, 6},
       {0, 5, 12},
       {5, 6},
       {1, 0}},
      // 8 + 8 tokens; 16 are 8 a rank, which 8 can share.
      {"with TP", shared, {5, 6}, {0, 8, 16}, {4, 7}, {4, 1}},
      // 8 + 8 + 8 would be 12 a rank.
      {"with TP, the last one longer",
       shared,
       {5, 6, 3},
       {0, 8, 16, 32},
       {7, 7},
       {9, 9}},
      {"to a multiple, the last one longer", fixed, {5, 6}, {0, 8, 24}, {6, 5}, {6, 7}},
      {"contiguous to a rung", ring, {5, 6}, {0, 5, 16}, {8, 3}, {0, 5}},
      {"flat with TP", flat, {5, 6}, {0, 5, 12}, {11}, {1}},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(PlanMicroBatchTest, AnEmptyMicroBatchHasAnEmptyPlan) {
  JobSpec spec = PlanSpec(Layout::kTeThd, Sharding::kPerDocument, 2);
  spec.layout.pad_tokens_to = 24;
  const ShardPlan plan = PlanMicroBatch(spec, Pack(spec, {})).value();
  EXPECT_EQ(plan.padded_tokens, 0U);
  EXPECT_THAT(Validate(plan), IsOk());
}

TEST(PlanMicroBatchTest, RefusesAMicroBatchOfAnotherJob) {
  const JobSpec spec = PlanSpec(Layout::kTeThd, Sharding::kPerDocument, 2);
  MicroBatch micro_batch = Pack(spec, {5, 6});
  ++micro_batch.padding;
  EXPECT_THAT(PlanMicroBatch(spec, micro_batch),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("padded_tokens: 17 is not accepted")));
}

}  // namespace
}  // namespace evenpack
