#include "gpu_worker/selftest/device_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/gpu_worker/cudnn/rank_on_doubles.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakePlanner;
using evenpack::testing::IsOk;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::StatusIs;

constexpr uint32_t kMostRanks = 3;

SelftestCase SmallCase(uint32_t ranks) {
  SelftestCase of;
  of.shape.type = ElementType::kBfloat16;
  of.shape.query_heads = 4;
  of.shape.kv_heads = 2;
  of.lengths = {30, 1, 9, 2};
  of.sharding = Sharding::kPerDocument;
  of.context_parallel = ranks;
  return of;
}

// Plans that put nothing into another stream than their first one.
class WrongInGraphs final : public AttentionPlanner {
 public:
  explicit WrongInGraphs(std::shared_ptr<const CudaContext> context)
      : planner_(std::move(context)) {}
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    return std::make_unique<Plan>(planner_.Build(shape).value());
  }

 private:
  class Plan final : public AttentionPlan {
   public:
    explicit Plan(std::unique_ptr<AttentionPlan> plan) : plan_(std::move(plan)) {}
    size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
    absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                     void* workspace, cuda::Stream stream) override {
      if (first_ == nullptr) first_ = stream;
      if (stream != first_) return absl::OkStatus();
      return plan_->Run(tables, tensors, workspace, stream);
    }

   private:
    const std::unique_ptr<AttentionPlan> plan_;
    cuda::Stream first_ = nullptr;
  };

  FakePlanner planner_;
};

// Plans whose forward runs write a byte behind the output's `bytes`.
class WritesBehind final : public AttentionPlanner {
 public:
  WritesBehind(std::shared_ptr<const CudaContext> context, size_t bytes)
      : context_(context), planner_(std::move(context)), bytes_(bytes) {}
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    if (shape.pass != Pass::kForward) return planner_.Build(shape);
    return std::make_unique<Plan>(context_, planner_.Build(shape).value(), bytes_);
  }

 private:
  class Plan final : public AttentionPlan {
   public:
    Plan(std::shared_ptr<const CudaContext> context,
         std::unique_ptr<AttentionPlan> plan, size_t bytes)
        : context_(std::move(context)), plan_(std::move(plan)), bytes_(bytes) {}
    size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
    absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                     void* workspace, cuda::Stream stream) override {
      absl::Status status = plan_->Run(tables, tensors, workspace, stream);
      const CurrentContext current(*context_);
      char* const behind = static_cast<char*>(tensors.output) + bytes_;
      fakeCudaLaunch(
          stream, [](const void* at) { **static_cast<char* const*>(at) = 1; }, &behind,
          sizeof(behind));
      return status;
    }

   private:
    const std::shared_ptr<const CudaContext> context_;
    const std::unique_ptr<AttentionPlan> plan_;
    const size_t bytes_;
  };

  const std::shared_ptr<const CudaContext> context_;
  FakePlanner planner_;
  const size_t bytes_;
};

class DeviceCasesTest : public evenpack::testing::FakeDeviceTest {
 protected:
  static CudaRankOptions WithGraphs() {
    CudaRankOptions options = RankOnDoubles();
    options.attention.graphs.graphs = 16;
    return options;
  }
  static absl::StatusOr<AttentionErrors> Run(DeviceCases& cases,
                                             const SelftestCase& of) {
    return cases.Runner()(of, MadeMicroBatch(of.shape, of.lengths, /*seed=*/3));
  }
};

TEST_F(DeviceCasesTest, GroupsOfAnySizeComputeWhatTheDefinitionSays) {
  for (const CudaRankOptions& options : {RankOnDoubles(), WithGraphs()}) {
    const auto cases = DeviceCases::Open(options, kMostRanks).value();
    for (uint32_t ranks = 1; ranks <= kMostRanks; ++ranks) {
      const auto errors = Run(*cases, SmallCase(ranks));
      ASSERT_THAT(errors, IsOk());
      EXPECT_LT(errors->Largest(), AcceptedError(ElementType::kBfloat16));
    }
    EXPECT_EQ(cases->graphs() > 0, options.attention.graphs.graphs > 0);
  }
}

TEST_F(DeviceCasesTest, WhatIsWrongInGraphsAloneIsSeen) {
  CudaRankOptions options = WithGraphs();
  options.open_planner = [](std::shared_ptr<const CudaContext> context) {
    return std::make_unique<WrongInGraphs>(std::move(context));
  };
  const auto cases = DeviceCases::Open(options, 1).value();
  const auto errors = Run(*cases, SmallCase(1));
  ASSERT_THAT(errors, IsOk());
  EXPECT_GT(errors->Largest(), 1);
  EXPECT_LT(cases->first_errors().Largest(), AcceptedError(ElementType::kBfloat16));
  EXPECT_EQ(cases->last_errors().Largest(), errors->Largest());
}

// And its peers don't wait for it.
TEST_F(DeviceCasesTest, ARankThatWritesBehindATensorIsNamed) {
  const SelftestCase of = SmallCase(2);
  const size_t bytes = HeldTokens(of.Plan(), 1) * of.shape.query_row() * 2;
  CudaRankOptions options = RankOnDoubles();
  int opened = 0;
  options.open_planner = [&](std::shared_ptr<const CudaContext> context)
      -> absl::StatusOr<std::unique_ptr<AttentionPlanner>> {
    if (opened++ == 0) return std::make_unique<FakePlanner>(std::move(context));
    return std::make_unique<WritesBehind>(std::move(context), bytes);
  };
  const auto cases = DeviceCases::Open(options, 2).value();
  EXPECT_THAT(
      cases->Runner()(of, MadeMicroBatch(of.shape, of.lengths, 3)).status(),
      StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("behind its end")));
}

TEST_F(DeviceCasesTest, WithoutADriverThereAreNone) {
  CudaRankOptions options = RankOnDoubles();
  options.driver = "/nowhere/libcuda.so.1";
  EXPECT_THAT(DeviceCases::Open(options, 1).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

}  // namespace
}  // namespace evenpack::worker
