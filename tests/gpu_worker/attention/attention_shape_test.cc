#include "gpu_worker/attention/attention_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

AttentionShape Grouped() {
  AttentionShape shape;
  shape.query_heads = 32;
  shape.kv_heads = 8;
  shape.head_size = 128;
  return shape;
}

TEST(AttentionShapeTest, RowsHoldAllHeads) {
  const AttentionShape shape = Grouped();
  EXPECT_EQ(shape.group_size(), 4U);
  EXPECT_EQ(shape.query_row(), 32U * 128);
  EXPECT_EQ(shape.kv_row(), 8U * 128);
}

TEST(AttentionShapeTest, TheScaleIsTheInverseRootOfTheHeadSizeUnlessGiven) {
  AttentionShape shape = Grouped();
  shape.head_size = 64;
  EXPECT_FLOAT_EQ(shape.Scale(), 0.125F);
  shape.scale = 0.5F;
  EXPECT_FLOAT_EQ(shape.Scale(), 0.5F);
}

TEST(AttentionShapeTest, ASlidingWindowCountsTheQueryItself) {
  AttentionShape shape = Grouped();
  EXPECT_EQ(shape.FirstKey(1000), 0U);
  shape.sliding_window = 1;
  EXPECT_EQ(shape.FirstKey(1000), 1000U);
  shape.sliding_window = 10;
  EXPECT_EQ(shape.FirstKey(0), 0U);
  EXPECT_EQ(shape.FirstKey(9), 0U);
  EXPECT_EQ(shape.FirstKey(10), 1U);
}

TEST(AttentionShapeTest, AcceptsTheHeadSizesThatKernelsHave) {
  for (const uint32_t size : {64U, 128U, 192U, 256U}) {
    AttentionShape shape = Grouped();
    shape.head_size = size;
    EXPECT_THAT(Check(shape), IsOk()) << size;
  }
}

TEST(AttentionShapeTest, RefusesWhatNoKernelHasByName) {
  struct Row {
    std::string field;
    std::string message;
    std::function<void(AttentionShape&)> change;
  };
  const Row rows[] = {
      {"query_heads", "0 is not accepted; accepted: 1 to 1024",
       [](AttentionShape& s) { s.query_heads = 0; }},
      {"query_heads", "1025", [](AttentionShape& s) { s.query_heads = 1025; }},
      {"kv_heads", "1 to 32", [](AttentionShape& s) { s.kv_heads = 0; }},
      {"kv_heads", "33", [](AttentionShape& s) { s.kv_heads = 33; }},
      {"kv_heads", "5 is not accepted; accepted: a divisor of query_heads, 32",
       [](AttentionShape& s) { s.kv_heads = 5; }},
      {"head_size", "64, 128, 192 or 256", [](AttentionShape& s) { s.head_size = 0; }},
      {"head_size", "96", [](AttentionShape& s) { s.head_size = 96; }},
      {"head_size", "320", [](AttentionShape& s) { s.head_size = 320; }},
      {"scale", "a positive number", [](AttentionShape& s) { s.scale = -1; }},
      {"scale", "nan",
       [](AttentionShape& s) { s.scale = std::numeric_limits<float>::quiet_NaN(); }},
  };
  for (const Row& row : rows) {
    AttentionShape shape = Grouped();
    row.change(shape);
    const absl::Status status = Check(shape);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
    EXPECT_EQ(RefusedField(status), row.field);
  }
}

}  // namespace
}  // namespace evenpack::worker
