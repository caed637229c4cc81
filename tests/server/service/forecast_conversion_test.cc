#include "server/service/forecast_conversion.h"

#include <evenpack/v1/job.pb.h>
#include <gtest/gtest.h>

#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"

namespace evenpack {
namespace {

using testing::ServiceSpec;

std::optional<ForecastTerms> TermsOf(const v1::Cost& cost) {
  v1::JobSpec spec = ServiceSpec();
  *spec.mutable_cost() = cost;
  return ForecastTermsOfSpec(FromProto(spec).value());
}

TEST(ForecastConversionTest, AnAnalyticCostNamesModelAndHardware) {
  v1::Cost cost;
  cost.mutable_analytic()->mutable_model()->set_name("30B");
  cost.mutable_analytic()->mutable_hardware()->set_name("H200");
  cost.set_attention_scale(1.5);
  const auto terms = TermsOf(cost);
  ASSERT_TRUE(terms.has_value());
  EXPECT_EQ(terms->model.name, "30B");
  EXPECT_EQ(terms->peak_flops, 989e12);
  EXPECT_EQ(terms->scales.attention_ppm, 1'500'000);
  EXPECT_EQ(terms->scales.linear_ppm, 1'000'000);
}

TEST(ForecastConversionTest, SoDoesTheLinearPartOfAProfiledOne) {
  v1::Cost cost;
  v1::AnalyticCost& linear = *cost.mutable_profiled()->mutable_linear();
  linear.mutable_model()->set_name("550M");
  linear.mutable_hardware()->set_name("H100");
  v1::KernelLatency& latency = *cost.mutable_kernel_latency();
  for (const uint32_t knot : {128U, 256U}) {
    latency.add_q_lens(knot);
    latency.add_kv_lens(knot);
  }
  for (const int64_t ns : {1000, 2000, 0, 3000}) latency.add_slice_ns(ns);
  const auto terms = TermsOf(cost);
  ASSERT_TRUE(terms.has_value());
  EXPECT_EQ(terms->model.name, "550M");
}

TEST(ForecastConversionTest, TheDefaultCostIsThatOf7B) {
  const auto terms = TermsOf({});
  ASSERT_TRUE(terms.has_value());
  EXPECT_EQ(terms->model.name, "7B");
}

TEST(ForecastConversionTest, OtherCostsNameNone) {
  v1::Cost cost;
  cost.mutable_quadratic()->set_crossover_tokens(10'000);
  EXPECT_FALSE(TermsOf(cost).has_value());
  cost.Clear();
  cost.mutable_table()->add_tokens(1);
  cost.mutable_table()->add_attention_ns(1);
  cost.mutable_table()->add_linear_ns(1);
  EXPECT_FALSE(TermsOf(cost).has_value());
}

TEST(ForecastConversionTest, OthersDescriptionsNameNone) {
  JobSpec spec;
  EXPECT_FALSE(ForecastTermsOfSpec(spec).has_value());
  spec.description = "no message";
  EXPECT_FALSE(ForecastTermsOfSpec(spec).has_value());
}

}  // namespace
}  // namespace evenpack
