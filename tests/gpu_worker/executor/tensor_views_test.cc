#include "gpu_worker/executor/tensor_views.h"

#include <gtest/gtest.h>

#include <vector>

namespace evenpack::worker {
namespace {

AttentionShape Shape(uint32_t query_heads, uint32_t kv_heads) {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = query_heads;
  shape.kv_heads = kv_heads;
  shape.head_size = 64;
  return shape;
}

TEST(TensorViewsTest, GroupsCoverAllHeadsEvenly) {
  for (uint32_t heads = 1; heads <= 9; ++heads) {
    for (uint32_t groups = 0; groups <= 12; ++groups) {
      uint32_t next = 0;
      uint32_t least = heads;
      uint32_t most = 0;
      for (const HeadRange& range : HeadGroups(Shape(heads, heads), groups)) {
        EXPECT_EQ(range.begin, next);
        next += range.count;
        least = std::min(least, range.count);
        most = std::max(most, range.count);
      }
      EXPECT_EQ(next, heads);
      EXPECT_GE(least, 1U);
      EXPECT_LE(most - least, 1U);
    }
  }
}

TEST(TensorViewsTest, AViewBeginsAtItsFirstHead) {
  const AttentionShape shape = Shape(12, 4);
  const HeadView heads(shape, {1, 2});
  EXPECT_EQ(heads.shape().kv_heads, 2U);
  EXPECT_EQ(heads.shape().query_heads, 6U);
  EXPECT_EQ(heads.kv_row(), 2U * 64);
  EXPECT_EQ(heads.kv_column(), 64U);
  std::vector<char> rows(4096);
  void* const data = rows.data();
  EXPECT_EQ(heads.Keys(data).data, rows.data() + 64 * 2);
  EXPECT_EQ(heads.Keys(data).stride, 4U * 64);
  EXPECT_EQ(heads.Queries(data).data, rows.data() + 3 * 64 * 2);
  EXPECT_EQ(heads.Queries(data).stride, 12U * 64);
  std::vector<float> sums(24);
  EXPECT_EQ(heads.LogSumExp(sums.data()).data, sums.data() + 3);
  EXPECT_EQ(heads.LogSumExp(sums.data()).stride, 12U);
}

TEST(TensorViewsTest, ARankWithoutTokensHasNoRows) {
  const AttentionShape shape = Shape(2, 2);
  const HeadView heads(shape, {1, 1});
  EXPECT_EQ(heads.Keys(nullptr).data, nullptr);
  EXPECT_EQ(heads.LogSumExp(nullptr).data, nullptr);
}

}  // namespace
}  // namespace evenpack::worker
