#include "gpu_worker/cudnn/call_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/device/key_gradients.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kHeadSize = 64;
constexpr uint32_t kKvHeads = 4;
constexpr uint32_t kQueriesPerKv = 3;
constexpr size_t kKvStride = size_t{kKvHeads} * kHeadSize;
constexpr size_t kQueryStride = kKvStride * kQueriesPerKv;

// A call for 12 query heads and 4 KV heads, each of whose tensors begins elsewhere.
class CallHeadsTest : public ::testing::Test {
 protected:
  CallHeadsTest() : bytes_(16384), floats_(4096) {
    of_.call.shape.type = ElementType::kBfloat16;
    of_.call.shape.query_heads = kKvHeads * kQueriesPerKv;
    of_.call.shape.kv_heads = kKvHeads;
    of_.call.shape.head_size = kHeadSize;
    of_.call.tasks = tasks_;
    of_.call.query = {Bytes(0), kQueryStride};
    of_.input.output = {Bytes(1), kQueryStride};
    of_.input.output_gradient = {Bytes(2), kQueryStride};
    of_.result.query_gradient = {Bytes(3), kQueryStride};
    of_.call.own_key = {Bytes(4), kKvStride};
    of_.call.own_value = {Bytes(5), kKvStride};
    of_.call.received_key = {Bytes(6), kKvStride};
    of_.call.received_value = {Bytes(7), kKvStride};
    of_.input.log_sum_exp = {Floats(0), kKvHeads * kQueriesPerKv};
    of_.result.key_gradients = &key_gradients_;
  }

  std::byte* Bytes(size_t tensor) { return bytes_.data() + 2000 * tensor; }
  float* Floats(size_t tensor) { return floats_.data() + 500 * tensor; }

  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
  std::vector<KeyGradients> key_gradients_;
  const std::vector<AttentionTask> tasks_ = {{0, 0, 10, 0, {{0, 10, 0, false}}},
                                             {1, 5, 25, 30, {{0, 25, 10, false}}}};
  BackwardCall of_;
};

TEST_F(CallHeadsTest, TheShapeHasThoseHeadsAlone) {
  const AttentionShape shape = SomeHeads(of_, 1, 2).call.shape;
  AttentionShape expected = of_.call.shape;
  expected.kv_heads = 2;
  expected.query_heads = 6;
  EXPECT_EQ(shape, expected);
}

TEST_F(CallHeadsTest, TensorsBeginAtTheFirstOfTheHeads) {
  const BackwardCall some = SomeHeads(of_, 1, 2);
  // Past 3 query heads, or 1 KV head, of 64 elements of 2 bytes.
  EXPECT_EQ(some.call.query.data, Bytes(0) + 384);
  EXPECT_EQ(some.input.output.data, Bytes(1) + 384);
  EXPECT_EQ(some.input.output_gradient.data, Bytes(2) + 384);
  EXPECT_EQ(some.result.query_gradient.data, Bytes(3) + 384);
  EXPECT_EQ(some.call.own_key.data, Bytes(4) + 128);
  EXPECT_EQ(some.call.own_value.data, Bytes(5) + 128);
  EXPECT_EQ(some.call.received_key.data, Bytes(6) + 128);
  EXPECT_EQ(some.call.received_value.data, Bytes(7) + 128);
}

TEST_F(CallHeadsTest, FloatsDoSoWhateverTheType) {
  const BackwardCall some = SomeHeads(of_, 1, 2);
  EXPECT_EQ(some.input.log_sum_exp.data, Floats(0) + 3);
}

TEST_F(CallHeadsTest, StridesAndTasksStay) {
  const BackwardCall some = SomeHeads(of_, 1, 2);
  for (const Rows& rows :
       {some.call.query, some.input.output, some.input.output_gradient}) {
    EXPECT_EQ(rows.stride, kQueryStride);
  }
  EXPECT_EQ(some.result.query_gradient.stride, kQueryStride);
  for (const Rows& rows : {some.call.own_key, some.call.own_value,
                           some.call.received_key, some.call.received_value}) {
    EXPECT_EQ(rows.stride, kKvStride);
  }
  EXPECT_EQ(some.input.log_sum_exp.stride, size_t{kKvHeads} * kQueriesPerKv);
  EXPECT_EQ(some.result.key_gradients, &key_gradients_);
  EXPECT_EQ(some.call.tasks.data(), tasks_.data());
  EXPECT_EQ(some.call.tasks.size(), 2U);
}

// As of a rank without a token, or one that receives nothing.
TEST_F(CallHeadsTest, NullStaysNull) {
  BackwardCall none;
  none.call.shape = of_.call.shape;
  const BackwardCall some = SomeHeads(none, 1, 2);
  for (const Rows& rows :
       {some.call.query, some.call.own_key, some.call.own_value, some.call.received_key,
        some.call.received_value, some.input.output, some.input.output_gradient}) {
    EXPECT_EQ(rows.data, nullptr);
  }
  EXPECT_EQ(some.result.query_gradient.data, nullptr);
  EXPECT_EQ(some.input.log_sum_exp.data, nullptr);
}

TEST_F(CallHeadsTest, AllHeadsAreTheCallItself) {
  const BackwardCall some = SomeHeads(of_, 0, kKvHeads);
  EXPECT_EQ(some.call.shape, of_.call.shape);
  EXPECT_EQ(some.call.query.data, Bytes(0));
  EXPECT_EQ(some.call.own_key.data, Bytes(4));
  EXPECT_EQ(some.input.log_sum_exp.data, Floats(0));
}

// A call may itself be for some of the tensors' heads.
TEST_F(CallHeadsTest, SomeMayBeTakenOfSome) {
  const BackwardCall once = SomeHeads(of_, 2, 1);
  const BackwardCall twice = SomeHeads(SomeHeads(of_, 1, 3), 1, 1);
  EXPECT_EQ(twice.call.shape, once.call.shape);
  EXPECT_EQ(twice.call.query.data, once.call.query.data);
  EXPECT_EQ(twice.call.received_value.data, once.call.received_value.data);
  EXPECT_EQ(twice.input.log_sum_exp.data, once.input.log_sum_exp.data);
  EXPECT_EQ(twice.input.log_sum_exp.data, once.input.log_sum_exp.data);
}

// 2^17 queries and keys, 128 elements a head: the numbers of an H200 with cuDNN 9.19.
PlanShape LongDocument(uint32_t query_heads, uint32_t kv_heads) {
  PlanShape shape;
  shape.pass = Pass::kBackward;
  shape.attention.query_heads = query_heads;
  shape.attention.kv_heads = kv_heads;
  shape.attention.head_size = 128;
  shape.all_queries = shape.all_keys = 1 << 17;
  shape.query_stride = int64_t{128} * query_heads;
  shape.log_sum_exp_stride = query_heads;
  shape.key_stride = shape.key_gradient_stride = int64_t{128} * kv_heads;
  return shape;
}

// In rows of their own, of tensors that have all heads.
PlanShape OfHeads(uint32_t heads, PlanShape shape) {
  shape.attention.query_heads = heads * shape.attention.group_size();
  shape.attention.kv_heads = heads;
  shape.key_gradient_stride = int64_t{128} * heads;
  return shape;
}

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(BackwardWorkspaceTest, IsOfRowsOfQueriesAndOfKeysForEachQueryHead) {
  EXPECT_EQ(BackwardWorkspace(LongDocument(32, 8)), 6 * kGiB + 16 * kMiB);
  EXPECT_EQ(BackwardWorkspace(LongDocument(128, 8)), 24 * kGiB + 64 * kMiB);
}

TEST(BackwardWorkspaceTest, IsOfQueriesAloneWhereEachHeadHasItsOwnKeys) {
  EXPECT_EQ(BackwardWorkspace(LongDocument(32, 32)), 2 * kGiB + 16 * kMiB);
}

// The tensors' rows stay as wide.
TEST(BackwardWorkspaceTest, FewerHeadsTakeLessForTheirKeysAlone) {
  const PlanShape all = LongDocument(32, 8);
  EXPECT_EQ(BackwardWorkspace(OfHeads(1, all)), 2 * kGiB + 528 * kMiB);
  EXPECT_EQ(BackwardWorkspace(OfHeads(1, LongDocument(32, 32))), 2 * kGiB + 16 * kMiB);
}

TEST(BackwardWorkspaceTest, IsOfTheRowsOfKeyGradientsWhateverHeadsAreInThem) {
  PlanShape one = OfHeads(1, LongDocument(32, 8));
  one.key_gradient_stride = int64_t{128} * 8;
  EXPECT_EQ(BackwardWorkspace(one), 6 * kGiB + 16 * kMiB);
}

TEST(HeadsAtOnceTest, AreAsManyAsTakeNoMore) {
  const PlanShape all = LongDocument(32, 8);
  for (uint32_t heads = 1; heads < 8; ++heads) {
    const uint64_t enough = BackwardWorkspace(OfHeads(heads, all));
    EXPECT_EQ(HeadsAtOnce(all, enough), heads);
    EXPECT_EQ(HeadsAtOnce(all, enough - 1), std::max(1U, heads - 1));
  }
  EXPECT_EQ(HeadsAtOnce(all, BackwardWorkspace(all)), 8U);
  EXPECT_EQ(HeadsAtOnce(all, 100 * kGiB), 8U);
}

TEST(HeadsAtOnceTest, IsOneWhereQueriesAloneTakeMore) {
  EXPECT_EQ(HeadsAtOnce(LongDocument(128, 8), 2 * kGiB), 1U);
  EXPECT_EQ(HeadsAtOnce(LongDocument(128, 8), 0), 1U);
}

TEST(HeadsAtOnceTest, AreAllWhereFewerTakeNoLess) {
  EXPECT_EQ(HeadsAtOnce(LongDocument(32, 32), 0), 32U);
}

}  // namespace
}  // namespace evenpack::worker
