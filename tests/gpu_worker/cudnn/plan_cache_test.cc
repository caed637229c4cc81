#include "gpu_worker/cudnn/plan_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;

// Does nothing.
class IdlePlan final : public AttentionPlan {
 public:
  size_t workspace_bytes() const override { return 0; }
  absl::Status Run(const PlanTables&, const PlanTensors&, void*,
                   cuda::Stream) override {
    return absl::OkStatus();
  }
};

// What a planner was asked for, and what it is to answer.
struct PlannerLog {
  std::vector<PlanShape> asked;
  std::vector<AttentionShape> checked;
  absl::Status error;
};

class LoggedPlanner final : public AttentionPlanner {
 public:
  explicit LoggedPlanner(PlannerLog& log) : log_(log) {}

  absl::Status CheckShape(const AttentionShape& shape) override {
    log_.checked.push_back(shape);
    return log_.error;
  }
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    log_.asked.push_back(shape);
    if (!log_.error.ok()) return log_.error;
    return std::make_unique<IdlePlan>();
  }

 private:
  PlannerLog& log_;
};

class PlanCacheTest : public ::testing::Test {
 protected:
  PlannerLog log_;
  PlanCache cache_{std::make_unique<LoggedPlanner>(log_)};
};

TEST_F(PlanCacheTest, BuildsOneForEachShapeOnce) {
  PlanShape shape;
  shape.queries = 256;
  const auto first = cache_.For(shape);
  ASSERT_THAT(first, IsOk());
  const auto second = cache_.For(shape);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(*first, *second);
  EXPECT_THAT(log_.asked, ElementsAre(shape));
  EXPECT_EQ(cache_.size(), 1U);
}

using ShapeChange = void (*)(PlanShape&);

constexpr ShapeChange kShapeChanges[] = {
    [](PlanShape&) {},
    [](PlanShape& shape) { shape.pass = Pass::kBackward; },
    [](PlanShape& shape) { shape.mask = Mask::kFull; },
    [](PlanShape& shape) { shape.mask = Mask::kCausal; },
    [](PlanShape& shape) { shape.attention.type = ElementType::kFloat16; },
    [](PlanShape& shape) { shape.attention.query_heads = 2; },
    [](PlanShape& shape) { shape.attention.kv_heads = 2; },
    [](PlanShape& shape) { shape.attention.head_size = 128; },
    [](PlanShape& shape) { shape.attention.scale = 0.5F; },
    [](PlanShape& shape) { shape.attention.sliding_window = 2; },
    [](PlanShape& shape) { shape.sequences = 2; },
    [](PlanShape& shape) { shape.queries = 2; },
    [](PlanShape& shape) { shape.keys = 2; },
    [](PlanShape& shape) { shape.all_queries = 2; },
    [](PlanShape& shape) { shape.all_keys = 2; },
    [](PlanShape& shape) { shape.query_stride = 2; },
    [](PlanShape& shape) { shape.key_stride = 2; },
    [](PlanShape& shape) { shape.log_sum_exp_stride = 2; },
};

TEST_F(PlanCacheTest, ShapesThatDifferInAnythingHaveTheirOwn) {
  std::set<AttentionPlan*> plans;
  for (const int repeat : {0, 1}) {
    for (const ShapeChange change : kShapeChanges) {
      PlanShape shape;
      change(shape);
      const auto plan = cache_.For(shape);
      ASSERT_THAT(plan, IsOk());
      EXPECT_EQ(plans.insert(*plan).second, repeat == 0);
    }
  }
  EXPECT_EQ(cache_.size(), std::size(kShapeChanges));
  EXPECT_EQ(log_.asked.size(), std::size(kShapeChanges));
}

TEST_F(PlanCacheTest, AnErrorIsNotKept) {
  log_.error = absl::UnimplementedError("no kernel");
  EXPECT_THAT(cache_.For(PlanShape()),
              StatusIs(absl::StatusCode::kUnimplemented, "no kernel"));
  EXPECT_EQ(cache_.size(), 0U);
  log_.error = absl::OkStatus();
  EXPECT_THAT(cache_.For(PlanShape()), IsOk());
  EXPECT_EQ(log_.asked.size(), 2U);
  EXPECT_EQ(cache_.size(), 1U);
}

TEST_F(PlanCacheTest, AnErrorOfOneShapeLeavesTheOthers) {
  const auto before = cache_.For(PlanShape());
  ASSERT_THAT(before, IsOk());
  log_.error = absl::UnimplementedError("no kernel");
  PlanShape other;
  other.keys = 2;
  EXPECT_THAT(cache_.For(other),
              StatusIs(absl::StatusCode::kUnimplemented, "no kernel"));
  const auto after = cache_.For(PlanShape());
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(*after, *before);
}

AttentionShape OfHeads(uint32_t head_size) {
  AttentionShape shape;
  shape.head_size = head_size;
  return shape;
}

TEST_F(PlanCacheTest, WhatAShapeIsFoundToBeIsKept) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, "no kernel");
  EXPECT_THAT(cache_.CheckShape(OfHeads(128)), IsOk());
  log_.error = absl::InvalidArgumentError("no kernel");
  EXPECT_THAT(cache_.CheckShape(OfHeads(256)), refused);
  log_.error = absl::InternalError("it was asked again");
  EXPECT_THAT(cache_.CheckShape(OfHeads(128)), IsOk());
  EXPECT_THAT(cache_.CheckShape(OfHeads(256)), refused);
  EXPECT_THAT(log_.checked, ElementsAre(OfHeads(128), OfHeads(256)));
}

// As where the device has no memory left for a moment.
TEST_F(PlanCacheTest, WhatIsNoFaultOfTheShapeIsNotKept) {
  for (const absl::Status& error :
       {absl::InternalError("cuDNN failed"), absl::ResourceExhaustedError("no memory"),
        absl::UnavailableError("not now")}) {
    log_.error = error;
    EXPECT_THAT(cache_.CheckShape(OfHeads(256)),
                StatusIs(error.code(), error.message()));
  }
  log_.error = absl::OkStatus();
  EXPECT_THAT(cache_.CheckShape(OfHeads(256)), IsOk());
}

}  // namespace
}  // namespace evenpack::worker
