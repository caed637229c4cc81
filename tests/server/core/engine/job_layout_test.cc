#include "server/core/engine/job_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;

// L = 1,000, S_max = 1,500.
JobSpec Spec(Layout layout, Sharding sharding, uint32_t context, uint32_t tensor = 1,
             bool sequence_parallel = false) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.layout.kind = layout;
  spec.layout.sequence_parallel = sequence_parallel;
  spec.sharding = sharding;
  spec.context_parallel = context;
  spec.tensor_parallel = tensor;
  return spec;
}

TEST(ParallelUnitsTest, FollowTheLayoutAndTheRanks) {
  using enum Layout;
  constexpr Sharding kDocument = Sharding::kPerDocument;
  constexpr Sharding kSequence = Sharding::kPerSequence;
  constexpr Sharding kRun = Sharding::kContiguous;
  const struct {
    const char* what;
    JobSpec spec;
    uint32_t document;
    uint32_t total;
  } rows[] = {
      {"native", Spec(kNative, kDocument, 8), 1, 1},
      {"alone", Spec(kMegatronThd, kDocument, 1), 1, 1},
      {"alone, TP without sequence parallelism", Spec(kTeThd, kDocument, 1, 8), 1, 1},
      {"2 * CP a document", Spec(kMegatronThd, kDocument, 3), 6, 6},
      {"the same", Spec(kPytorchCp, kDocument, 3, 8), 6, 6},
      {"the whole alone", Spec(kTeThd, kSequence, 3), 1, 6},
      {"TP a document", Spec(kTeThd, kDocument, 1, 8, true), 8, 8},
      {"and slots are even", Spec(kTeThd, kDocument, 1, 3, true), 6, 6},
      {"TP the whole", Spec(kTeThd, kSequence, 1, 3, true), 1, 3},
      // Each of 2 context-parallel ranks shares its part among 8.
      {"CP * TP the whole", Spec(kMegatronThd, kDocument, 2, 8, true), 8, 16},
      {"CP * TP, odd", Spec(kMegatronThd, kDocument, 2, 3, true), 12, 12},
      {"ring", Spec(kRingLlama3, kRun, 4), 1, 8},
      {"ring with TP", Spec(kRingLlama3, kRun, 4, 8, true), 1, 32},
      {"ring alone", Spec(kRingLlama3, kRun, 1), 1, 1},
      {"flat", Spec(kHfFlat, kSequence, 1), 1, 1},
      {"flat with TP", Spec(kHfFlat, kSequence, 1, 3, true), 1, 3},
      {"the largest", Spec(kTeThd, kDocument, 1024, 1023, true), 2048 * 1023,
       2048 * 1023},
  };
  for (const auto& row : rows) {
    const ParallelUnits units = ParallelUnitsOf(row.spec);
    EXPECT_EQ(units.document, row.document) << row.what;
    EXPECT_EQ(units.total, row.total) << row.what;
  }
}

TEST(CapacityTest, IsWhatThePolicyFillsWithPadding) {
  JobSpec spec = Spec(Layout::kMegatronThd, Sharding::kPerDocument, 4);
  spec.layout.pad_tokens_to = 64;
  EXPECT_EQ(CapacityOf(spec).tokens, 1472U);
  EXPECT_EQ(CapacityOf(spec).padding.document_unit, 8U);
  EXPECT_EQ(CapacityOf(spec).padding.total_unit, 64U);
  EXPECT_EQ(CapacityOf(spec).documents, std::numeric_limits<uint32_t>::max());
  spec.policy.kind = PolicyKind::kOriginal;
  spec.layout.max_documents = 5;
  EXPECT_EQ(CapacityOf(spec).tokens, 960U);
  EXPECT_EQ(CapacityOf(spec).documents, 5U);
  EXPECT_EQ(LongestDocument(spec), 1472U);
  EXPECT_EQ(LongestDocument(MakeSpec(PolicyKind::kOriginal, 4, 1000)), 1500U);
}

TEST(ValidateLayoutTest, EachLayoutTakesItsShardings) {
  const struct {
    Layout layout;
    std::vector<Sharding> accepted;
  } rows[] = {
      {Layout::kNative,
       {Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kAdaptive,
        Sharding::kHybrid}},
      {Layout::kMegatronThd, {Sharding::kPerSequence, Sharding::kPerDocument}},
      {Layout::kTeThd, {Sharding::kPerSequence, Sharding::kPerDocument}},
      {Layout::kPytorchCp, {Sharding::kPerSequence, Sharding::kPerDocument}},
      {Layout::kRingLlama3, {Sharding::kContiguous}},
      {Layout::kHfFlat, {Sharding::kPerSequence}},
  };
  for (const auto& row : rows) {
    for (uint8_t number = 0; number < 6; ++number) {
      const auto sharding = static_cast<Sharding>(number);
      JobSpec spec = Spec(row.layout, sharding, 1);
      spec.kernel_latency =
          KernelLatencyTable::FromGrid({128, 256}, {128, 256}, {5, 6, 5, 6}, 7).value();
      const bool accepted = std::find(row.accepted.begin(), row.accepted.end(),
                                      sharding) != row.accepted.end();
      EXPECT_EQ(Validate(spec).ok(), accepted)
          << std::string(LayoutName(row.layout)) << " " << int{number};
    }
  }
}

TEST(ValidateLayoutTest, RefusesByName) {
  const JobSpec thd = Spec(Layout::kMegatronThd, Sharding::kPerDocument, 4);
  const JobSpec native = Spec(Layout::kNative, Sharding::kPerDocument, 4);
  const JobSpec flat = Spec(Layout::kHfFlat, Sharding::kPerSequence, 2);
  const struct {
    JobSpec spec;
    std::function<void(JobSpec&)> damage;
    std::string message;
  } rows[] = {
      {native, [](JobSpec& s) { s.layout.kind = static_cast<Layout>(6); },
       "layout.kind: 6 is not accepted; accepted: native, megatron_thd, te_thd, "
       "pytorch_cp, ring_llama3 or hf_flat"},
      {flat, [](JobSpec&) {},
       "context_parallel: 2 is not accepted; accepted: 1 for the layout hf_flat"},
      {native, [](JobSpec& s) { s.layout.sequence_parallel = true; },
       "layout.sequence_parallel: true is not accepted; accepted: false for the layout "
       "native, which parallelism does not pad"},
      {thd, [](JobSpec& s) { s.sharding = Sharding::kAdaptive; },
       "sharding: adaptive is not accepted; accepted: per_sequence or per_document for "
       "the layout megatron_thd"},
      {thd, [](JobSpec& s) { s.sharding = Sharding::kHybrid; },
       "sharding: hybrid is not accepted; accepted: per_sequence or per_document for "
       "the layout megatron_thd"},
      {native, [](JobSpec& s) { s.sharding = Sharding::kHybrid; },
       "kernel_latency: an empty table is not accepted; accepted: a table of kernel "
       "latencies, which hybrid sharding needs"},
      {native, [](JobSpec& s) { s.hybrid.token_ps = -5; },
       "hybrid.token_ps: -5 is not accepted; accepted: 0 to 100000000"},
      {thd, [](JobSpec& s) { s.sharding = static_cast<Sharding>(7); },
       "sharding: 7 is not accepted; accepted: per_sequence or per_document for the "
       "layout megatron_thd"},
      {thd, [](JobSpec& s) { s.layout.pad_tokens_to = 100; },
       "layout.pad_tokens_to: 100 is not accepted; accepted: 0 (none) or a multiple of "
       "8 up to 1500 (max_length)"},
      {thd,
       [](JobSpec& s) {
         s.policy.kind = PolicyKind::kFixedGreedy;
         s.layout.pad_tokens_to = 1008;
       },
       "layout.pad_tokens_to: 1008 is not accepted; accepted: 0 (none) or a multiple "
       "of "
       "8 up to 1000 (window)"},
      {native, [](JobSpec& s) { s.layout.pad_tokens_to = 1501; },
       "layout.pad_tokens_to: 1501 is not accepted; accepted: 0 (none) or a multiple "
       "of "
       "1 up to 1500 (max_length)"},
      {native,
       [](JobSpec& s) {
         s.layout.pad_tokens_to = 2;
         s.layout.shape_ladder = {1000};
       },
       "layout.pad_tokens_to: 2 is not accepted; accepted: 0 with a shape_ladder"},
      {thd, [](JobSpec& s) { s.context_parallel = 751; },
       "max_length: 1500 is not accepted; accepted: at least 1502, to whose multiples "
       "the layout megatron_thd pads with this parallelism"},
      {native,
       [](JobSpec& s) {
         s.layout.shape_ladder = {0, 1000};
       },
       "layout.shape_ladder[0]: 0 is not accepted; accepted: a multiple of 1 above 0"},
      {thd,
       [](JobSpec& s) {
         s.layout.shape_ladder = {800, 1200, 1200};
       },
       "layout.shape_ladder[2]: 1200 is not accepted; accepted: a multiple of 8 above "
       "1200"},
      {thd, [](JobSpec& s) { s.layout.shape_ladder = {1004}; },
       "layout.shape_ladder[0]: 1004 is not accepted; accepted: a multiple of 8 above "
       "0"},
      {thd,
       [](JobSpec& s) {
         s.layout.shape_ladder = {992, 1600};
       },
       "layout.shape_ladder: a ladder without a rung for a window of tokens is not "
       "accepted; accepted: one with a rung of 1000 (window) to 1500 (max_length) "
       "tokens"},
      {native,
       [](JobSpec& s) {
         s.policy.kind = PolicyKind::kOriginal;
         s.layout.shape_ladder = {1001};
       },
       "layout.shape_ladder[0]: 1001 is not accepted; accepted: at most 1000 (window), "
       "which the policy fills"},
  };
  for (const auto& row : rows) {
    JobSpec spec = row.spec;
    row.damage(spec);
    EXPECT_THAT(Validate(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, row.message));
  }
}

TEST(ValidateLayoutTest, AcceptsWhatFits) {
  JobSpec spec = Spec(Layout::kRingLlama3, Sharding::kContiguous, 4, 2, true);
  EXPECT_THAT(Validate(spec), IsOk());
  // A rung beyond max_length is there for other jobs.
  spec.layout.shape_ladder = {8, 1000, 8000};
  EXPECT_THAT(Validate(spec), IsOk());
  spec.layout.pad_tokens_to = 1;
  EXPECT_THAT(Validate(spec), IsOk());
  spec.layout.shape_ladder.clear();
  spec.layout.pad_tokens_to = 1496;
  EXPECT_THAT(Validate(spec), IsOk());
}

}  // namespace
}  // namespace evenpack
