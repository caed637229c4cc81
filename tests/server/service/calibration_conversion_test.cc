#include "server/service/calibration_conversion.h"

#include <evenpack/v1/job.pb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::ServiceSpec;

TEST(CalibrationConversionTest, ScalesAreThoseOfTheSpecAndOneWhereItHasNone) {
  v1::JobSpec from = ServiceSpec();
  EXPECT_EQ(CostScalesOf(FromProto(from).value()), CostScales());
  EXPECT_FALSE(IsSelfCalibrating(FromProto(from).value()));
  from.mutable_cost()->set_attention_scale(1.953125);
  from.mutable_cost()->set_self_calibrating(true);
  const JobSpec spec = FromProto(from).value();
  EXPECT_EQ(CostScalesOf(spec), (CostScales{1'953'125, 1'000'000}));
  EXPECT_TRUE(IsSelfCalibrating(spec));
}

TEST(CalibrationConversionTest, OthersDescriptionsHaveNoScales) {
  JobSpec spec;
  EXPECT_EQ(CostScalesOf(spec), CostScales());
  EXPECT_FALSE(IsSelfCalibrating(spec));
  spec.description = "no message";
  EXPECT_EQ(CostScalesOf(spec), CostScales());
  v1::JobSpec description;
  description.mutable_cost()->set_attention_scale(1e9);
  spec.description = description.SerializeAsString();
  EXPECT_EQ(CostScalesOf(spec), CostScales());
}

TEST(CalibrationConversionTest,
     ADescriptionWithOtherScalesIsThatOfAnUpdateThatSetsThem) {
  v1::JobSpec from = ServiceSpec();
  from.mutable_cost()->set_self_calibrating(true);
  const JobSpec before = FromProto(from).value();
  const CostScales scales = {1'250'001, 800'000};
  from.mutable_cost()->set_attention_scale(1.250001);
  from.mutable_cost()->set_linear_scale(0.8);
  const JobSpec updated = FromProto(from).value();
  EXPECT_EQ(DescribeWith(before, scales), updated.description);
  EXPECT_EQ(CostScalesOf(updated), scales);
  const auto rescaled =
      Rescaled(before.workload, CostScales(), scales, before.micro_batches);
  ASSERT_THAT(rescaled, IsOk());
  EXPECT_EQ(*rescaled, updated.workload);
}

}  // namespace
}  // namespace evenpack
