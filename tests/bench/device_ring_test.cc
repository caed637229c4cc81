#include "tests/bench/device_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/gpu_worker/cudnn/rank_on_doubles.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

class NoPlans final : public AttentionPlanner {
 public:
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(const PlanShape&) override {
    return absl::InternalError("there is no kernel");
  }
};

class DeviceRingTest : public evenpack::testing::FakeDeviceTest {
 protected:
  absl::StatusOr<std::unique_ptr<DeviceRing>> Open(const AttentionShape& shape) {
    return DeviceRing::Open(*rank_, shape, /*tokens=*/40,
                            evenpack::testing::kFakeImage);
  }

  const std::unique_ptr<CudaRank> rank_ = CudaRank::Open(RankOnDoubles()).value();
};

TEST_F(DeviceRingTest, PassesAreDoneStepAfterStep) {
  const auto ring = Open(SmallShape());
  ASSERT_THAT(ring, IsOk());
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT((*ring)->BeginStep(), IsOk());
    for (int pass = 0; pass < 4; ++pass) {
      EXPECT_GT((*ring)->Pass().value_or(-1), 0);
    }
    EXPECT_GE((*ring)->EachOf(5).value_or(-1), 0);
    EXPECT_GE((*ring)->EachOfHeld(8).value_or(-1), 0);
    EXPECT_THAT((*ring)->EndStep(), IsOk());
  }
}

TEST_F(DeviceRingTest, OutsideAStepNothingIsDone) {
  const auto ring = Open(SmallShape()).value();
  EXPECT_THAT(ring->EndStep(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("step 1")));
}

TEST_F(DeviceRingTest, AShapeThatTheEngineRefusesIsSaid) {
  AttentionShape shape = SmallShape();
  shape.type = ElementType::kFloat32;
  EXPECT_THAT(Open(shape).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float32")));
}

TEST_F(DeviceRingTest, WhyAPassFailsIsSaidBeforeAnyIsMeasured) {
  CudaRankOptions options = RankOnDoubles();
  options.open_planner = [](std::shared_ptr<const CudaContext>) {
    return std::make_unique<NoPlans>();
  };
  const auto rank = CudaRank::Open(options).value();
  EXPECT_THAT(
      DeviceRing::Open(*rank, SmallShape(), 40, evenpack::testing::kFakeImage).status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("there is no kernel")));
}

}  // namespace
}  // namespace evenpack::worker
