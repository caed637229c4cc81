#include "server/service/cost_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "evenpack/v1/cost.pb.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr CostShape kShape = {.max_length = 4096,
                              .micro_batches = 4,
                              .tensor_parallel = 2,
                              .context_parallel = 2};

v1::AnalyticCost NamedAnalytic() {
  v1::AnalyticCost analytic;
  analytic.mutable_model()->set_name("7B");
  analytic.mutable_hardware()->set_name("H100");
  return analytic;
}

v1::KernelLatency Measured() {
  v1::KernelLatency latency;
  for (const uint32_t length : {128U, 1024U, 4096U}) {
    latency.add_q_lens(length);
    latency.add_kv_lens(length);
  }
  for (const int64_t ns : {1000, 4000, 16000, 0, 20000, 90000, 0, 0, 300000}) {
    latency.add_slice_ns(ns);
  }
  latency.set_launch_ns(500);
  return latency;
}

void SetShape(v1::ModelShape& shape) {
  shape.set_name("own");
  shape.set_layers(12);
  shape.set_hidden(1024);
  shape.set_query_heads(16);
  shape.set_kv_heads(4);
  shape.set_head_size(64);
  shape.set_ffn_size(4096);
  shape.set_plain_ffn(true);
  shape.set_experts(8);
  shape.set_active_experts(2);
  shape.set_vocabulary(32000);
  shape.set_window(512);
  shape.set_window_layers(6);
}

void SetFigures(v1::HardwareFigures& figures) {
  figures.set_name("own");
  figures.set_peak_flops(1e15);
  figures.set_linear_fraction(0.5);
  figures.set_attention_fraction(0.25);
  figures.set_multiprocessors(100);
}

AnalyticCost OwnAnalytic() {
  AnalyticCost cost;
  cost.model.name = "own";
  cost.model.layers = 12;
  cost.model.hidden = 1024;
  cost.model.query_heads = 16;
  cost.model.kv_heads = 4;
  cost.model.head_size = 64;
  cost.model.ffn_size = 4096;
  cost.model.ffn_kind = ModelSpec::kPlain;
  cost.model.experts = 8;
  cost.model.active_experts = 2;
  cost.model.vocabulary = 32000;
  cost.model.window = 512;
  cost.model.window_layers = 6;
  cost.hardware.name = "own";
  cost.hardware.peak_flops = 1e15;
  cost.hardware.linear_fraction = 0.5;
  cost.hardware.attention_fraction = 0.25;
  cost.hardware.multiprocessors = 100;
  cost.tensor_parallel = 2;
  cost.context_parallel = 2;
  return cost;
}

WorkloadTable Resolved(const CostSpec& cost) {
  return ResolveWorkload(cost, kShape.max_length, kShape.micro_batches).value();
}

TEST(CostConversionTest, QuadraticIsTheEngines) {
  v1::Cost cost;
  cost.mutable_quadratic()->set_crossover_tokens(1000);
  cost.mutable_quadratic()->set_ns_per_token(7);
  EXPECT_EQ(ResolveWorkload(cost, kShape).value(), Resolved(QuadraticCost{1000, 7}));
}

TEST(CostConversionTest, ModelsAndHardwareAreFoundByNameInAnyCase) {
  AnalyticCost expected;
  expected.model = NamedModel("30B").value();
  expected.hardware = NamedHardware("H200").value();
  expected.tensor_parallel = 2;
  expected.context_parallel = 2;
  v1::Cost cost;
  cost.mutable_analytic()->mutable_model()->set_name("30b");
  cost.mutable_analytic()->mutable_hardware()->set_name("h200");
  EXPECT_EQ(ResolveWorkload(cost, kShape).value(), Resolved(expected));
}

TEST(CostConversionTest, EveryFieldOfAShapeAndOfFiguresCounts) {
  v1::Cost cost;
  SetShape(*cost.mutable_analytic()->mutable_model()->mutable_shape());
  SetFigures(*cost.mutable_analytic()->mutable_hardware()->mutable_figures());
  EXPECT_EQ(ResolveWorkload(cost, kShape).value(), Resolved(OwnAnalytic()));
}

TEST(CostConversionTest, ProfiledTakesAttentionFromWhatWasMeasured) {
  v1::Cost cost;
  *cost.mutable_profiled()->mutable_linear() = NamedAnalytic();
  *cost.mutable_kernel_latency() = Measured();
  ProfiledCost expected;
  expected.linear.model = NamedModel("7B").value();
  expected.linear.hardware = NamedHardware("H100").value();
  expected.linear.tensor_parallel = 2;
  expected.linear.context_parallel = 2;
  expected.attention = KernelLatencyTable::FromMeasurements(
                           {128, 1024, 4096}, {128, 1024, 4096},
                           {1000, 4000, 16000, 0, 20000, 90000, 0, 0, 300000}, 500)
                           .value();
  EXPECT_EQ(ResolveWorkload(cost, kShape).value(), Resolved(expected));
}

TEST(CostConversionTest, ATableIsLinesBetweenItsValuesAndTheLastSlopeBeyond) {
  v1::Cost cost;
  v1::CostTable& table = *cost.mutable_table();
  for (const uint32_t tokens : {10U, 30U, 2000U}) table.add_tokens(tokens);
  for (const int64_t ns : {100, 100, 19800}) table.add_attention_ns(ns);
  for (const int64_t ns : {5, 25, 25}) table.add_linear_ns(ns);
  const WorkloadTable resolved = ResolveWorkload(cost, kShape).value();
  EXPECT_EQ(resolved.max_tokens(), 4096U);
  struct {
    uint32_t tokens;
    int64_t attention_ns;
    int64_t linear_ns;
  } const cases[] = {{0, 0, 0},         {1, 10, 0},        {9, 90, 4},
                     {10, 100, 5},      {20, 100, 15},     {30, 100, 25},
                     {40, 200, 25},     {2000, 19800, 25}, {2001, 19810, 25},
                     {4096, 40760, 25}, {3000, 29800, 25}};
  for (const auto& point : cases) {
    EXPECT_EQ(resolved.AttentionNs(point.tokens), point.attention_ns) << point.tokens;
    EXPECT_EQ(resolved.LinearNs(point.tokens), point.linear_ns) << point.tokens;
  }
}

TEST(CostConversionTest, ATableOfOneValueIsALineFromNothing) {
  v1::Cost cost;
  cost.mutable_table()->add_tokens(8);
  cost.mutable_table()->add_attention_ns(16);
  cost.mutable_table()->add_linear_ns(80);
  const WorkloadTable resolved = ResolveWorkload(cost, kShape).value();
  EXPECT_EQ(resolved.AttentionNs(4096), 8192);
  EXPECT_EQ(resolved.LinearNs(3), 30);
}

TEST(CostConversionTest, RefusedFieldsAreNamedByTheirPaths) {
  struct {
    std::function<void(v1::Cost&)> damage;
    std::string field;
  } const cases[] = {
      {[](v1::Cost& c) { c.mutable_quadratic()->set_ns_per_token(1); },
       "cost.quadratic.crossover_tokens"},
      {[](v1::Cost& c) { c.mutable_quadratic()->set_crossover_tokens(1); },
       "cost.quadratic.ns_per_token"},
      {[](v1::Cost& c) {
         *c.mutable_analytic() = NamedAnalytic();
         c.mutable_analytic()->mutable_model()->set_name("8B");
       },
       "cost.analytic.model.name"},
      {[](v1::Cost& c) {
         *c.mutable_analytic() = NamedAnalytic();
         c.mutable_analytic()->clear_model();
       },
       "cost.analytic.model.name"},
      {[](v1::Cost& c) {
         *c.mutable_analytic() = NamedAnalytic();
         c.mutable_analytic()->mutable_hardware()->set_name("Z80");
       },
       "cost.analytic.hardware.name"},
      {[](v1::Cost& c) { c.mutable_profiled(); }, "cost.profiled.linear.model.name"},
      {[](v1::Cost& c) { *c.mutable_profiled()->mutable_linear() = NamedAnalytic(); },
       "cost.kernel_latency.q_lens"},
      {[](v1::Cost& c) { c.mutable_table(); }, "cost.table.tokens"},
  };
  for (const auto& refused : cases) {
    v1::Cost cost;
    refused.damage(cost);
    const absl::Status status = ResolveWorkload(cost, kShape).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 StartsWith(refused.field + ": ")));
    EXPECT_EQ(RefusedField(status), refused.field);
  }
}

TEST(CostConversionTest, RefusedFieldsOfAModelAreNamed) {
  struct {
    std::function<void(v1::ModelShape&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& s) { s.set_layers(0); }, "layers"},
      {[](auto& s) { s.set_hidden(0); }, "hidden"},
      {[](auto& s) { s.set_query_heads(0); }, "query_heads"},
      {[](auto& s) { s.set_kv_heads(0); }, "kv_heads"},
      {[](auto& s) { s.set_kv_heads(3); }, "query_heads"},
      {[](auto& s) { s.set_head_size(0); }, "head_size"},
      {[](auto& s) { s.set_ffn_size(0); }, "ffn_size"},
      {[](auto& s) { s.set_vocabulary(0); }, "vocabulary"},
      {[](auto& s) { s.set_active_experts(9); }, "active_experts"},
      {[](auto& s) { s.set_window_layers(13); }, "window_layers"},
      {[](auto& s) { s.set_window(0); }, "window"},
  };
  for (const auto& refused : cases) {
    v1::Cost cost;
    v1::AnalyticCost& linear = *cost.mutable_profiled()->mutable_linear();
    SetShape(*linear.mutable_model()->mutable_shape());
    SetFigures(*linear.mutable_hardware()->mutable_figures());
    refused.damage(*linear.mutable_model()->mutable_shape());
    *cost.mutable_kernel_latency() = Measured();
    EXPECT_EQ(RefusedField(ResolveWorkload(cost, kShape).status()),
              "cost.profiled.linear.model.shape." + refused.field);
  }
}

TEST(CostConversionTest, RefusedFieldsOfHardwareAreNamed) {
  struct {
    std::function<void(v1::HardwareFigures&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& f) { f.set_peak_flops(0); }, "peak_flops"},
      {[](auto& f) { f.set_linear_fraction(0); }, "linear_fraction"},
      {[](auto& f) { f.set_attention_fraction(1.5); }, "attention_fraction"},
      {[](auto& f) {
         f.set_attention_fraction(std::numeric_limits<double>::quiet_NaN());
       },
       "attention_fraction"},
      {[](auto& f) { f.set_multiprocessors(0); }, "multiprocessors"},
  };
  for (const auto& refused : cases) {
    v1::Cost cost;
    *cost.mutable_analytic() = NamedAnalytic();
    SetFigures(*cost.mutable_analytic()->mutable_hardware()->mutable_figures());
    refused.damage(*cost.mutable_analytic()->mutable_hardware()->mutable_figures());
    EXPECT_EQ(RefusedField(ResolveWorkload(cost, kShape).status()),
              "cost.analytic.hardware.figures." + refused.field);
  }
}

TEST(CostConversionTest, RefusedFieldsOfATableAreNamed) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  struct {
    std::function<void(v1::CostTable&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& t) { t.set_tokens(0, 0); }, "tokens[0]"},
      {[](auto& t) { t.set_tokens(1, 10); }, "tokens[1]"},
      {[](auto& t) { t.add_attention_ns(9); }, "attention_ns"},
      {[](auto& t) { t.clear_linear_ns(); }, "linear_ns"},
      {[](auto& t) { t.set_attention_ns(0, -1); }, "attention_ns[0]"},
      {[](auto& t) { t.set_linear_ns(1, 0); }, "linear_ns[1]"},
      {[huge](auto& t) { t.set_attention_ns(1, huge); }, "attention_ns"},
  };
  for (const auto& refused : cases) {
    v1::Cost cost;
    for (const uint32_t tokens : {10U, 20U}) {
      cost.mutable_table()->add_tokens(tokens);
      cost.mutable_table()->add_attention_ns(tokens);
      cost.mutable_table()->add_linear_ns(tokens);
    }
    ASSERT_THAT(ResolveWorkload(cost, kShape), IsOk());
    refused.damage(*cost.mutable_table());
    const absl::Status status = ResolveWorkload(cost, kShape).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
    EXPECT_EQ(RefusedField(status), "cost.table." + refused.field);
  }
}

TEST(CostConversionTest, KernelLatencyIsMeasuredOrThatOfTheTiles) {
  v1::Cost cost;
  const auto tiles = [](const std::string& model, const std::string& hardware) {
    return KernelLatencyTable::FromTileModel(NamedModel(model).value(),
                                             NamedHardware(hardware).value(), 2)
        .value();
  };
  EXPECT_EQ(ResolveKernelLatency(cost, kShape).value(), tiles("7B", "H100"));
  cost.mutable_analytic()->mutable_model()->set_name("70B");
  cost.mutable_analytic()->mutable_hardware()->set_name("H200");
  EXPECT_EQ(ResolveKernelLatency(cost, kShape).value(), tiles("70B", "H200"));
  *cost.mutable_kernel_latency() = Measured();
  EXPECT_EQ(ResolveKernelLatency(cost, kShape).value(),
            KernelLatencyTable::FromMeasurements(
                {128, 1024, 4096}, {128, 1024, 4096},
                {1000, 4000, 16000, 0, 20000, 90000, 0, 0, 300000}, 500)
                .value());
}

TEST(CostConversionTest, RefusedFieldsOfKernelLatencyAreNamed) {
  struct {
    std::function<void(v1::KernelLatency&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& k) { k.set_q_lens(0, 100); }, "q_lens[0]"},
      {[](auto& k) { k.set_kv_lens(1, 128); }, "kv_lens[1]"},
      {[](auto& k) { k.add_slice_ns(1); }, "slice_ns"},
      {[](auto& k) { k.set_slice_ns(0, -1); }, "slice_ns[0]"},
      {[](auto& k) { k.set_launch_ns(-1); }, "launch_ns"},
  };
  for (const auto& refused : cases) {
    v1::Cost cost;
    *cost.mutable_kernel_latency() = Measured();
    refused.damage(*cost.mutable_kernel_latency());
    EXPECT_EQ(RefusedField(ResolveKernelLatency(cost, kShape).status()),
              "cost.kernel_latency." + refused.field);
  }
}

TEST(CostConversionTest, ScalesMultiplyTheTwoPartsWhateverTheModel) {
  v1::Cost costs[4];
  costs[0].mutable_quadratic()->set_crossover_tokens(1000);
  costs[0].mutable_quadratic()->set_ns_per_token(1000);
  *costs[1].mutable_analytic() = NamedAnalytic();
  *costs[2].mutable_profiled()->mutable_linear() = NamedAnalytic();
  *costs[2].mutable_kernel_latency() = Measured();
  costs[3].mutable_table()->add_tokens(4096);
  costs[3].mutable_table()->add_attention_ns(1'000'000);
  costs[3].mutable_table()->add_linear_ns(2'000'000);
  for (v1::Cost& cost : costs) {
    const auto plain = ResolveWorkload(cost, kShape);
    ASSERT_THAT(plain, IsOk());
    cost.set_attention_scale(2.5);
    cost.set_linear_scale(0.5);
    const auto scaled = ResolveWorkload(cost, kShape);
    ASSERT_THAT(scaled, IsOk());
    EXPECT_NEAR(static_cast<double>(scaled->AttentionNs(4096)),
                2.5 * static_cast<double>(plain->AttentionNs(4096)), 1);
    EXPECT_NEAR(static_cast<double>(scaled->LinearNs(4096)),
                0.5 * static_cast<double>(plain->LinearNs(4096)), 1);
  }
}

TEST(CostConversionTest, RefusesScalesOutOfTheirRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {-1.0, 0.001, 101.0, nan}) {
    v1::Cost cost;
    cost.mutable_quadratic()->set_crossover_tokens(1000);
    cost.mutable_quadratic()->set_ns_per_token(1000);
    cost.set_attention_scale(value);
    EXPECT_THAT(ResolveWorkload(cost, kShape).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith("cost.attention_scale: ")));
    cost.set_attention_scale(1);
    cost.set_linear_scale(value);
    EXPECT_THAT(ResolveWorkload(cost, kShape).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith("cost.linear_scale: ")));
  }
}

}  // namespace
}  // namespace evenpack
