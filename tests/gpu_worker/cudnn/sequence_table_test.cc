#include "gpu_worker/cudnn/sequence_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace evenpack::worker {
namespace {

using ::testing::_;
using ::testing::ElementsAre;

// With gaps between their rows, and the longest in neither case last.
std::vector<Sequence> ThreeSequences() {
  return {{40, 17, 100, 20, 310}, {0, 5, 0, 300, 0}, {20, 8, 400, 9, 301}};
}

PlanShape ShapeWithStrides(Pass pass, int64_t sequences) {
  PlanShape shape;
  shape.pass = pass;
  shape.attention.query_heads = 8;
  shape.attention.kv_heads = 2;
  shape.attention.head_size = 64;
  shape.sequences = sequences;
  shape.query_stride = 1000;
  shape.key_stride = 500;
  shape.log_sum_exp_stride = 8;
  shape.key_gradient_stride = 128;
  return shape;
}

// Entries of a table.
template <typename Number>
std::vector<Number> Entries(const Number* table, size_t count) {
  return {table, table + count};
}

TEST(NeededForTest, LengthsAreThoseOfTheLongest) {
  PlanShape expected = ShapeWithStrides(Pass::kForward, 3);
  expected.queries = 17;
  expected.keys = 300;
  EXPECT_EQ(NeededFor(ThreeSequences(), ShapeWithStrides(Pass::kForward, 1)), expected);
}

TEST(NeededForTest, BackwardSumsOfLengthsHaveTheGaps) {
  PlanShape expected = ShapeWithStrides(Pass::kBackward, 3);
  expected.queries = 17;
  expected.keys = 300;
  expected.all_queries = 40 + 17;
  expected.all_keys = 310 + 20;
  std::vector<Sequence> sequences = ThreeSequences();
  const PlanShape like = ShapeWithStrides(Pass::kBackward, 1);
  EXPECT_EQ(NeededFor(sequences, like), expected);
  std::reverse(sequences.begin(), sequences.end());
  EXPECT_EQ(NeededFor(sequences, like), expected);
}

// Keys are where the tensor has them; a run's own gradients of keys count.
TEST(NeededForTest, BackwardKeysCountWhereTheirGradientsAre) {
  const PlanShape needed =
      NeededFor({{0, 5, 9000, 5, 0}}, ShapeWithStrides(Pass::kBackward, 1));
  EXPECT_EQ(needed.all_keys, 5);
}

TEST(TableImageTest, OffsetsAreRowsTimesStrides) {
  const PlanShape shape = ShapeWithStrides(Pass::kBackward, 3);
  const TableImage image(ThreeSequences(), shape);
  const PlanTables tables = TablesAt(image.bytes().data(), shape);
  EXPECT_THAT(Entries(tables.query_offsets, 4), ElementsAre(40000, 0, 20000, _));
  EXPECT_THAT(Entries(tables.key_offsets, 4), ElementsAre(50000, 0, 200000, _));
  EXPECT_THAT(Entries(tables.log_sum_exp_offsets, 4), ElementsAre(320, 0, 160, _));
  // These rows have the heads of the run alone, 2 of 64.
  EXPECT_THAT(Entries(tables.key_gradient_offsets, 4),
              ElementsAre(310 * 128, 0, 301 * 128, _));
  EXPECT_THAT(Entries(tables.query_lengths, 3), ElementsAre(17, 5, 8));
  EXPECT_THAT(Entries(tables.key_lengths, 3), ElementsAre(20, 300, 9));
}

TEST(TableImageTest, SequencesThatThereAreNotAreOfLengthZero) {
  const PlanShape shape = ShapeWithStrides(Pass::kForward, 6);
  const TableImage image(ThreeSequences(), shape);
  const PlanTables tables = TablesAt(image.bytes().data(), shape);
  EXPECT_THAT(Entries(tables.query_lengths, 6), ElementsAre(17, 5, 8, 0, 0, 0));
  EXPECT_THAT(Entries(tables.key_lengths, 6), ElementsAre(20, 300, 9, 0, 0, 0));
  EXPECT_THAT(Entries(tables.query_offsets, 7),
              ElementsAre(40000, 0, 20000, _, _, _, _));
}

TEST(TableImageTest, EachTableIsAlignedAsTheirMemoryIs) {
  alignas(256) static const std::byte memory[1 << 14] = {};
  for (const int64_t sequences : {1, 4, 16, 64}) {
    const PlanShape shape = ShapeWithStrides(Pass::kBackward, sequences);
    const PlanTables tables = TablesAt(memory, shape);
    for (const void* table : {static_cast<const void*>(tables.query_lengths),
                              static_cast<const void*>(tables.key_lengths),
                              static_cast<const void*>(tables.query_offsets),
                              static_cast<const void*>(tables.key_offsets),
                              static_cast<const void*>(tables.log_sum_exp_offsets),
                              static_cast<const void*>(tables.key_gradient_offsets)}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(table) % 256, 0U) << sequences;
    }
    const auto* const end =
        reinterpret_cast<const std::byte*>(tables.key_lengths + sequences);
    EXPECT_GE(TableImage({}, shape).bytes().size(),
              static_cast<size_t>(end - std::begin(memory)));
  }
}

TEST(TableImageTest, OffsetsMayBeBeyond32Bits) {
  PlanShape shape = ShapeWithStrides(Pass::kBackward, 1);
  shape.query_stride = 16384;
  const int64_t row = 1 << 20;
  const TableImage image({{row, 1, row, 1, row}}, shape);
  const PlanTables tables = TablesAt(image.bytes().data(), shape);
  EXPECT_EQ(tables.query_offsets[0], int64_t{1} << 34);
  EXPECT_EQ(tables.key_offsets[0], row * 500);
  EXPECT_EQ(tables.key_gradient_offsets[0], row * 128);
}

TEST(TableImageTest, ACopyIsReadWhereItLies) {
  const PlanShape shape = ShapeWithStrides(Pass::kBackward, 4);
  const TableImage image(ThreeSequences(), shape);
  std::vector<int64_t> copy(image.bytes().size() / sizeof(int64_t) + 1);
  std::memcpy(copy.data(), image.bytes().data(), image.bytes().size());
  const PlanTables first = TablesAt(image.bytes().data(), shape);
  const PlanTables second = TablesAt(copy.data(), shape);
  EXPECT_NE(first.query_offsets, second.query_offsets);
  EXPECT_EQ(Entries(first.query_offsets, 5), Entries(second.query_offsets, 5));
  EXPECT_EQ(Entries(first.key_lengths, 4), Entries(second.key_lengths, 4));
}

// Of a table: its first byte, and one past its last.
using Extent = std::pair<uintptr_t, uintptr_t>;

template <typename Number>
Extent ExtentOf(const Number* table, size_t count) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(table) % sizeof(Number), 0U);
  return {reinterpret_cast<uintptr_t>(table),
          reinterpret_cast<uintptr_t>(table + count)};
}

TEST(TableImageTest, TablesAreApartWithinTheBytes) {
  for (const size_t count : {1U, 3U, 4U, 1024U}) {
    const PlanShape shape =
        ShapeWithStrides(Pass::kBackward, static_cast<int64_t>(count));
    const TableImage image({}, shape);
    const PlanTables tables = TablesAt(image.bytes().data(), shape);
    std::vector<Extent> extents = {ExtentOf(tables.query_lengths, count),
                                   ExtentOf(tables.key_lengths, count),
                                   ExtentOf(tables.query_offsets, count + 1),
                                   ExtentOf(tables.key_offsets, count + 1),
                                   ExtentOf(tables.log_sum_exp_offsets, count + 1),
                                   ExtentOf(tables.key_gradient_offsets, count + 1)};
    std::sort(extents.begin(), extents.end());
    const Extent bytes = ExtentOf(image.bytes().data(), image.bytes().size());
    uintptr_t end = bytes.first;
    for (const Extent& extent : extents) {
      EXPECT_GE(extent.first, end) << count;
      end = extent.second;
    }
    EXPECT_LE(end, bytes.second) << count;
  }
}

}  // namespace
}  // namespace evenpack::worker
