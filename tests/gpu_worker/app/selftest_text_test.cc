#include "gpu_worker/app/selftest_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace evenpack::worker {
namespace {

SelftestReport Report() {
  SelftestReport report;
  report.by_type = {{2, {1e-7, 2e-7, 3e-7, 4e-7, 5e-7}}, {0, {}}, {4, {}}};
  report.by_sharding = {3, 2, 0, 1, 0};
  report.by_ranks = {0, 4, 0, 2};
  report.by_head_size = {{64, 4}, {128, 2}};
  report.by_sharing_heads = {{1, 5}, {4, 1}};
  report.by_head_groups = {{1, 3}, {2, 3}};
  report.windowed = 2;
  report.padded = 3;
  report.tokens = 321;
  return report;
}

SelftestOptions Options() {
  SelftestOptions options;
  options.seed = 9;
  options.first_case = 4;
  options.cases = 6;
  return options;
}

TEST(SelftestTextTest, SaysWhatWasCheckedAndHowFarOffItWas) {
  EXPECT_EQ(
      SelftestText(Options(), Report()),
      R"(6 micro-batches of 321 tokens, forward and backward, from case 4 of seed 9
shardings: per_sequence x 3, per_document x 2, contiguous x 1, hybrid x 0
ranks: 1 x 4, 3 x 2
head sizes: 64 x 4, 128 x 2
query heads for each KV head: 1 x 5, 4 x 1
head groups: 1 x 3, 2 x 3
with a sliding window: 2, with padding: 3

largest difference from the definition, of its largest number
elements    cases    output log_sum_exp query_gradient key_gradient value_gradient  accepted
float32         2   1.0e-07     2.0e-07        3.0e-07      4.0e-07        5.0e-07     1e-05
bfloat16        0         -           -              -            -              -     1e-02
float16         4   0.0e+00     0.0e+00        0.0e+00      0.0e+00        0.0e+00     2e-03
ok
)");
}

TEST(SelftestTextTest, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(SelftestJson(Options(), Report()));
  EXPECT_EQ(json["seed"], 9);
  EXPECT_EQ(json["first_case"], 4);
  EXPECT_EQ(json["cases"], 6);
  EXPECT_EQ(json["tokens"], 321);
  EXPECT_EQ(json["shardings"]["per_document"], 2);
  EXPECT_EQ(json["ranks"][2]["ranks"], 3);
  EXPECT_EQ(json["ranks"][2]["cases"], 2);
  EXPECT_EQ(json["head_sizes"][1]["head_size"], 128);
  EXPECT_EQ(json["head_sizes"][1]["cases"], 2);
  EXPECT_EQ(json["query_heads_per_kv_head"][1]["heads"], 4);
  EXPECT_EQ(json["query_heads_per_kv_head"][1]["cases"], 1);
  EXPECT_EQ(json["head_groups"][0]["groups"], 1);
  EXPECT_EQ(json["head_groups"][0]["cases"], 3);
  EXPECT_EQ(json["sliding_window"], 2);
  EXPECT_EQ(json["padding"], 3);
  ASSERT_EQ(json["errors"].size(), 3U);
  EXPECT_EQ(json["errors"][0]["type"], "float32");
  EXPECT_EQ(json["errors"][0]["cases"], 2);
  EXPECT_DOUBLE_EQ(json["errors"][0]["value_gradient"], 5e-7);
  EXPECT_DOUBLE_EQ(json["errors"][1]["accepted"], 1e-2);
  // Of a type that was not drawn nothing was checked.
  EXPECT_FALSE(json["errors"][1].contains("output"));
}

}  // namespace
}  // namespace evenpack::worker
