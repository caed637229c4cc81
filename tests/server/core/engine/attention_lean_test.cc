#include "server/core/engine/attention_lean.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

JobSpec WithError(uint32_t error_64ths) {
  JobSpec spec = testing::MakeSpec(PolicyKind::kBalanced, 4, 131072);
  spec.policy.balanced.attention_error_64ths = error_64ths;
  return spec;
}

TEST(AttentionLeanTest, IsAShareOfTheError) {
  EXPECT_EQ(ReleaseLean(WithError(0)), 0U);
  EXPECT_EQ(ReleaseLean(WithError(16)), 40U);
  EXPECT_LE(ReleaseLean(WithError(63)), 255U);
}

TEST(AttentionLeanTest, IsNoughtWhereSumsHaveNoRoom) {
  JobSpec spec = WithError(16);
  const int64_t most = WorkloadTable::kMaxStepNs / 4 / 4;
  const auto lasting = [](int64_t ns) {
    return WorkloadTable::Create(LengthCurve::Create(196'608, 18, {0, ns}).value(),
                                 LengthCurve::Create(196'608, 18, {0, 0}).value())
        .value();
  };
  spec.workload = lasting(most);
  EXPECT_EQ(ReleaseLean(spec), 40U);
  spec.workload = lasting(4 * most);
  ASSERT_TRUE(spec.workload.StepFits(spec.micro_batches));
  EXPECT_EQ(ReleaseLean(spec), 0U);
}

TEST(AttentionLeanTest, PackingLeansWhereTheDearestAttentionHasOthersWait) {
  Release release;
  release.workload_ns = 100'000;
  // A fifth of a quarter.
  release.dearer_excess_ns = 5'000;
  EXPECT_EQ(PackingLean(WithError(16), release), 0U);
  release.dearer_excess_ns = 5'001;
  EXPECT_EQ(PackingLean(WithError(16), release), 10U);
  EXPECT_EQ(PackingLean(WithError(0), release), 0U);
  EXPECT_EQ(PackingLean(WithError(32), release), 0U);
  release.workload_ns = release.dearer_excess_ns = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PackingLean(WithError(63), release), 39U);
}

}  // namespace
}  // namespace evenpack
