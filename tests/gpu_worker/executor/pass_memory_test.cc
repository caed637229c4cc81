#include "gpu_worker/executor/pass_memory.h"

#include <gtest/gtest.h>

#include "gpu_worker/selftest/made_micro_batch.h"

namespace evenpack::worker {
namespace {

AttentionShape Shape(ElementType type) {
  AttentionShape shape;
  shape.type = type;
  shape.query_heads = 10;
  shape.kv_heads = 5;
  shape.head_size = 64;
  return shape;
}

PreparedMicroBatch Prepared(Sharding sharding, uint32_t ranks, uint32_t rank,
                            ElementType type) {
  return PrepareMicroBatch(Planned(sharding, {400}, ranks), rank, Shape(type));
}

TEST(PassMemoryTest, ARankAloneHoldsItsSumsOnly) {
  const auto prepared = Prepared(Sharding::kPerSequence, 1, 0, ElementType::kBfloat16);
  const PassMemory memory = MemoryOf(prepared, 4);
  EXPECT_EQ(memory.forward, 0U);
  EXPECT_EQ(memory.backward, 2U * 400 * 5 * 64 * 4);
}

TEST(PassMemoryTest, HoldsTheCopiesOfARankAlone) {
  const AttentionShape shape = Shape(ElementType::kBfloat16);
  const auto prepared =
      PrepareMicroBatch(Planned(Sharding::kPerDocument, {400, 300}, 1), 0, shape,
                        KeyPlacement::kTogether);
  const uint64_t rows = prepared.layout.received_rows;
  ASSERT_GT(rows, 0U);
  EXPECT_EQ(MemoryOf(prepared, 1).forward, 2U * rows * 5 * 64 * 2);
  EXPECT_EQ(MemoryOf(prepared, 1).backward,
            2U * rows * 5 * 64 * (2 + 4) + 2U * 700 * 5 * 64 * 4);
}

// Contiguous halves of a document: rank 1 receives the first, rank 0 gets the gradients
// back. Five heads in two groups are held at once, in three three of them at most four.
TEST(PassMemoryTest, HoldsTwoGroupsOfHeadsOfWhatTravels) {
  struct Case {
    ElementType type;
    uint32_t groups;
    uint64_t heads;
  };
  for (const Case& c :
       {Case{ElementType::kFloat32, 1, 5}, Case{ElementType::kFloat32, 2, 5},
        Case{ElementType::kBfloat16, 3, 4}, Case{ElementType::kBfloat16, 5, 2},
        Case{ElementType::kBfloat16, 9, 2}}) {
    const uint64_t own_sums = 2U * 200 * 5 * 64 * 4;
    const auto sender = Prepared(Sharding::kContiguous, 2, 0, c.type);
    EXPECT_EQ(MemoryOf(sender, c.groups).forward, 0U);
    EXPECT_EQ(MemoryOf(sender, c.groups).backward,
              own_sums + 2 * 200 * c.heads * 64 * 4);
    const auto receiver = Prepared(Sharding::kContiguous, 2, 1, c.type);
    const uint64_t received = 2 * 200 * c.heads * 64 * BytesOf(c.type);
    EXPECT_EQ(MemoryOf(receiver, c.groups).forward, received);
    EXPECT_EQ(MemoryOf(receiver, c.groups).backward,
              own_sums + received + 2 * 200 * c.heads * 64 * 4);
  }
}

// The example of docs/worker.md.
TEST(PassMemoryTest, ALongDocumentOverEightRanks) {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 32;
  shape.kv_heads = 8;
  shape.head_size = 128;
  const PreparedMicroBatch prepared =
      PrepareMicroBatch(Planned(Sharding::kPerDocument, {131'072}, 8), 0, shape);
  EXPECT_EQ(prepared.held_rows, 16'384U);
  EXPECT_EQ(MemoryOf(prepared, 4).forward, 224U << 20);
  EXPECT_EQ(MemoryOf(prepared, 4).backward, 1024U << 20);
  EXPECT_EQ(TensorMemoryOf(shape, prepared.held_rows).forward, 322U << 20);
  EXPECT_EQ(TensorMemoryOf(shape, prepared.held_rows).backward, 320U << 20);
}

TEST(PassMemoryTest, TensorsTakeWhatTheirRowsTake) {
  const PassMemory memory = TensorMemoryOf(Shape(ElementType::kBfloat16), 100);
  const uint64_t query = 100 * 10 * 64 * 2;
  const uint64_t key = query / 2;
  EXPECT_EQ(memory.forward, 2 * query + 2 * key + 4032);  // 4,000, aligned
  EXPECT_EQ(memory.backward, 2 * query + 2 * key);
  EXPECT_EQ(TensorMemoryOf(Shape(ElementType::kFloat32), 0).forward, 0U);
}

}  // namespace
}  // namespace evenpack::worker
