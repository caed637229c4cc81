#include "gpu_worker/selftest/selftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "gpu_worker/attention/cpu_attention.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

std::unique_ptr<AttentionEngine> OneThread() {
  return std::make_unique<CpuAttention>(1);
}

SelftestOptions Small() {
  SelftestOptions options;
  options.cases = 40;
  options.max_length = 40;
  return options;
}

// Gradients of keys and queries are 0 there, but for rounding.
TEST(SelftestTest, QueriesThatSeeOneKeyAreWithinTheBounds) {
  SelftestOptions options;
  options.first_case = 23342;
  options.cases = 1;
  options.max_length = 1;
  SelftestReport report;
  EXPECT_THAT(RunSelftest(
                  options, OnThreads(OneThread), [](uint64_t) {}, report),
              IsOk());
}

TEST(SelftestTest, ChecksEveryKindOfCaseAndCountsThem) {
  SelftestReport report;
  std::vector<uint64_t> told;
  ASSERT_THAT(RunSelftest(
                  Small(), OnThreads(OneThread),
                  [&told](uint64_t done) { told.push_back(done); }, report),
              IsOk());
  EXPECT_EQ(told.size(), 40U);
  EXPECT_EQ(told.back(), 40U);
  uint64_t cases = 0;
  for (const SelftestFigures& figures : report.by_type) {
    EXPECT_GT(figures.cases, 0U);
    EXPECT_GT(figures.errors.Largest(), 0);
    cases += figures.cases;
  }
  EXPECT_EQ(cases, 40U);
  EXPECT_EQ(std::accumulate(report.by_sharding.begin(), report.by_sharding.end(),
                            uint64_t{0}),
            40U);
  EXPECT_EQ(report.by_sharding[static_cast<size_t>(Sharding::kAdaptive)], 0U);
  EXPECT_EQ(report.by_ranks[0], 0U);
  // All of 1 to 8.
  EXPECT_THAT(std::vector<uint64_t>(report.by_ranks.begin() + 1, report.by_ranks.end()),
              Each(Gt(0U)));
  EXPECT_GT(report.tokens, 40U);
  for (const auto& counts :
       {report.by_head_size, report.by_sharing_heads, report.by_head_groups}) {
    EXPECT_GT(counts.size(), 2U);
    uint64_t counted = 0;
    for (const auto& [number, of] : counts) counted += of;
    EXPECT_EQ(counted, 40U);
  }
  EXPECT_THAT(report.windowed, AllOf(Gt(0U), Lt(40U)));
  EXPECT_THAT(report.padded, AllOf(Gt(0U), Lt(40U)));
}

TEST(SelftestTest, OfARangeOfCasesItCountsWhatTheyHave) {
  SelftestOptions options = Small();
  options.first_case = 3;
  options.cases = 1;
  const SelftestCase drawn = DrawCase(options, 3);
  SelftestReport report;
  ASSERT_THAT(RunSelftest(
                  options, OnThreads(OneThread), [](uint64_t) {}, report),
              IsOk());
  const AttentionShape& shape = drawn.shape;
  using Counts = std::map<uint32_t, uint64_t>;
  EXPECT_EQ(report.by_head_size, (Counts{{shape.head_size, 1}}));
  EXPECT_EQ(report.by_sharing_heads, (Counts{{shape.query_heads / shape.kv_heads, 1}}));
  EXPECT_EQ(report.by_head_groups, (Counts{{drawn.head_groups, 1}}));
  EXPECT_EQ(report.windowed, shape.sliding_window > 0 ? 1U : 0U);
}

TEST(SelftestTest, ACaseDependsOnItsSeedAndNumberAlone) {
  SelftestOptions options = Small();
  const std::string text = DrawCase(options, 7).Text();
  options.first_case = 5;
  options.cases = 9;
  EXPECT_EQ(DrawCase(options, 7).Text(), text);
  std::set<std::string> texts;
  for (uint64_t number = 0; number < 100; ++number) {
    texts.insert(DrawCase(options, number).Text());
  }
  EXPECT_EQ(texts.size(), 100U);
  options.seed = 2;
  EXPECT_NE(DrawCase(options, 7).Text(), text);
}

TEST(SelftestTest, CasesStayWithinTheirBounds) {
  SelftestOptions options;
  options.max_ranks = 3;
  options.max_length = 5;
  for (uint64_t number = 0; number < 300; ++number) {
    const SelftestCase drawn = DrawCase(options, number);
    EXPECT_LE(drawn.context_parallel, 3U);
    EXPECT_THAT(drawn.lengths, Each(AllOf(::testing::Ge(1U), ::testing::Le(5U))));
    EXPECT_THAT(Check(drawn.shape), IsOk());
  }
}

// Computes like another, and one number of a gradient is off.
class WrongAttention : public CpuAttention {
 public:
  WrongAttention() : CpuAttention(1) {}

  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override {
    absl::Status status = CpuAttention::Backward(call, input, result);
    result.own_value_gradient
        .data[call.tasks[0].query_row * result.own_value_gradient.stride] += 0.5F;
    return status;
  }
};

TEST(SelftestTest, AWrongNumberIsFoundAndNamesItsCase) {
  SelftestReport report;
  SelftestOptions options = Small();
  options.first_case = 12;
  const absl::Status status = RunSelftest(
      options, OnThreads([] { return std::make_unique<WrongAttention>(); }),
      [](uint64_t) {}, report);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("case 12 of seed 1: "),
                             HasSubstr(DrawCase(options, 12).Text()),
                             HasSubstr("errors: "), HasSubstr("accepted: up to "))));
}

TEST(SelftestTest, WhatIsAcceptedIsUpToItsCaller) {
  SelftestReport report;
  SelftestOptions options = Small();
  options.accepted = [](ElementType) { return 0.0; };
  EXPECT_THAT(RunSelftest(
                  options, OnThreads([] { return std::make_unique<CpuAttention>(1); }),
                  [](uint64_t) {}, report),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("accepted: up to 0")));
}

class FailingAttention : public CpuAttention {
 public:
  FailingAttention() : CpuAttention(1) {}
  absl::Status Forward(const AttentionCall&, const ForwardResult&) override {
    return absl::UnavailableError("the device is gone");
  }
};

TEST(SelftestTest, AnEnginesErrorIsTold) {
  SelftestReport report;
  EXPECT_THAT(
      RunSelftest(
          Small(), OnThreads([] { return std::make_unique<FailingAttention>(); }),
          [](uint64_t) {}, report),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("case 0 of seed 1"), HasSubstr("the device is gone"))));
}

}  // namespace
}  // namespace evenpack::worker
