#include "gpu_worker/app/profile_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace evenpack::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

AttentionShape Shape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

TEST(ProfileTextTest, ATableHasItsHeaderOnce) {
  ProfileTable table(Shape());
  // 4 x 64 x 4 operations for each of 128 x 129 / 2 pairs, in 8,256 ns.
  const std::string first = table.Row(MeasuredSlice{128, 128, {8256, 20640}});
  EXPECT_EQ(first,
            "   q_len   kv_len     forward us    backward us    GFLOP/s   backward\n"
            "     128      128            8.3           20.6     1024.0     1024.0\n");
  EXPECT_EQ(table.Row(MeasuredSlice{128, 256, {0, 1000}}).find("q_len"),
            std::string::npos);
  EXPECT_EQ(table.Row(MeasuredExchange{4096, 2048}),
            "\n   bytes received    exchange us           GB/s\n"
            "             4096            2.0          2.000\n");
  EXPECT_THAT(table.Row(MeasuredExchange{8192, 2048}), Not(HasSubstr("bytes")));
}

TEST(ProfileTextTest, TheJsonIsACostProfile) {
  MeasuredProfile profile;
  profile.shape = Shape();
  profile.attention.lengths = {128, 256};
  profile.attention.launch = {5, 6};
  profile.attention.slices = {{1, 2}, {3, 4}, {}, {7, 8}};
  profile.ranks = 2;
  profile.exchanges = {{64, 10}, {128, 11}};
  const ProfileLabel label = {"p", "hardware", "kernel", 99};
  EXPECT_EQ(nlohmann::json::parse(ProfileJson(profile, label)),
            nlohmann::json::parse(R"({
    "name": "p", "hardware": "hardware", "kernel": "kernel",
    "heads": {"query_heads": 4, "kv_heads": 2, "head_size": 64},
    "element_type": "ELEMENT_TYPE_BFLOAT16",
    "forward": {"q_lens": [128, 256], "kv_lens": [128, 256],
                "slice_ns": [1, 3, 0, 7], "launch_ns": 5},
    "backward": {"q_lens": [128, 256], "kv_lens": [128, 256],
                 "slice_ns": [2, 4, 0, 8], "launch_ns": 6},
    "collectives": [{"kind": "COLLECTIVE_KIND_EXCHANGE", "ranks": 2,
                     "bytes": [64, 128], "latency_ns": [10, 11]}],
    "measured_unix_seconds": 99})"));
  profile.exchanges.clear();
  EXPECT_EQ(nlohmann::json::parse(ProfileJson(profile, label))["collectives"].size(),
            0U);
}

}  // namespace
}  // namespace evenpack::worker
