#include "server/core/cost/kernel_latency_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "server/core/cost/named_models.h"
#include "tests/server/core/cost/refused_field.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr uint32_t kLongestSide = 2147483647;
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

ModelSpec SeventyB() { return *NamedModel("70B"); }
HardwareSpec H100() { return *NamedHardware("H100"); }

KernelLatencyTable Measured(std::vector<uint32_t> q_lens, std::vector<uint32_t> kv_lens,
                            std::vector<int64_t> slice_ns) {
  auto table = KernelLatencyTable::FromMeasurements(
      std::move(q_lens), std::move(kv_lens), std::move(slice_ns), 1500);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : KernelLatencyTable();
}

KernelLatencyTable TileModel(uint32_t tensor_parallel) {
  auto table = KernelLatencyTable::FromTileModel(SeventyB(), H100(), tensor_parallel);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

// The tile model summed block by block, in picoseconds.
double TileByTile(uint32_t q_len, uint32_t kv_len, double heads, double head_size,
                  double block_us = 4.35, double tile_us = 1.547) {
  const int64_t q_blocks = (int64_t{q_len} + 127) / 128;
  const int64_t kv_blocks = (int64_t{kv_len} + 127) / 128;
  double us = 0;
  for (int64_t block = 0; block < q_blocks; ++block) {
    const auto tiles = static_cast<double>(kv_blocks - q_blocks + 1 + block);
    us += block_us + tile_us * head_size / 128 * tiles;
  }
  return us * heads / 132 / 0.8 * 1e6;
}

TEST(KernelLatencyTable, PredictsNothingWhereItIsEmpty) {
  const KernelLatencyTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.SlicePs(128, 4096), 0);
  EXPECT_EQ(table.SliceNs(kLongestSide, kLongestSide), 0);
  EXPECT_EQ(table.launch_ns(), 0);
}

TEST(KernelLatencyTable, FollowsTheTileModelToThePicosecondPerBlock) {
  const KernelLatencyTable table = TileModel(8);
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const uint32_t kv_len = testing::Draw(random, 1, 200'000);
    const uint32_t q_len = testing::Draw(random, 1, kv_len);
    const double exact = TileByTile(q_len, kv_len, 8, 128);
    const double blocks = (q_len + 127) / 128;
    ASSERT_NEAR(static_cast<double>(table.SlicePs(q_len, kv_len)), exact,
                blocks * 1.01 + exact * 1e-9)
        << q_len << " queries, " << kv_len << " keys";
  }
}

TEST(KernelLatencyTable, HasTilesOfItsOwnForTheBackwardPass) {
  const auto table =
      KernelLatencyTable::FromTileModel(SeventyB(), H100(), 8, Pass::kBackward);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->launch_ns(), 32'000);
  for (const auto& [q_len, kv_len] :
       {std::pair{128U, 128U}, {1024U, 1024U}, {512U, 4096U}, {65'536U, 131'072U}}) {
    const double exact = TileByTile(q_len, kv_len, 8, 128, 15.4, 4.51);
    EXPECT_NEAR(static_cast<double>(table->SlicePs(q_len, kv_len)), exact,
                q_len / 128 * 1.01 + exact * 1e-9);
  }
  EXPECT_EQ(
      KernelLatencyTable::FromTileModel(SeventyB(), H100(), 8, Pass::kForward).value(),
      TileModel(8));
}

// Far outside the small grid the rounding of its corners to a picosecond, or to a
// nanosecond where they were measured, is all that differs.
TEST(KernelLatencyTable, ReproducesTheTileModelFromAnySmallGridOfIt) {
  const KernelLatencyTable wide = TileModel(1);
  const std::vector<uint32_t> q_lens = {256, 1024};
  const std::vector<uint32_t> kv_lens = {2048, 8192};
  std::vector<int64_t> block_ps;
  std::vector<int64_t> slice_ns;
  for (const uint32_t q_len : q_lens) {
    for (const uint32_t kv_len : kv_lens) {
      block_ps.push_back(wide.SlicePs(q_len, kv_len) / (q_len / 128));
      slice_ns.push_back(wide.SliceNs(q_len, kv_len));
    }
  }
  const auto exact = KernelLatencyTable::FromGrid(q_lens, kv_lens, block_ps, 0);
  ASSERT_TRUE(exact.ok()) << exact.status();
  const KernelLatencyTable measured = Measured(q_lens, kv_lens, slice_ns);
  for (const uint32_t q_len : {1u, 128u, 500u, 1024u, 4096u, 60'000u}) {
    for (const uint32_t kv_len : {512u, 4096u, 8192u, 65'536u}) {
      if (kv_len < q_len) continue;
      const auto expected = static_cast<double>(wide.SlicePs(q_len, kv_len));
      EXPECT_NEAR(static_cast<double>(exact->SlicePs(q_len, kv_len)), expected,
                  1e-5 * expected)
          << q_len << " queries, " << kv_len << " keys";
      EXPECT_NEAR(static_cast<double>(measured.SlicePs(q_len, kv_len)), expected,
                  1e-3 * expected)
          << q_len << " queries, " << kv_len << " keys";
    }
  }
}

TEST(KernelLatencyTable, CountsLengthsInWholeTiles) {
  const KernelLatencyTable table = TileModel(8);
  EXPECT_EQ(table.SlicePs(0, 4096), 0);
  EXPECT_EQ(table.SlicePs(1, 4096), table.SlicePs(128, 4096));
  EXPECT_EQ(table.SlicePs(128, 3969), table.SlicePs(128, 4096));
  EXPECT_GT(table.SlicePs(129, 4096), table.SlicePs(128, 4096));
  EXPECT_LT(table.SlicePs(128, 3968), table.SlicePs(128, 4096));
  EXPECT_EQ(table.SlicePs(512, 0), table.SlicePs(512, 512));
}

TEST(KernelLatencyTable, SharesQueryHeadsOutOverTensorParallelRanks) {
  const auto one = static_cast<double>(TileModel(1).SlicePs(1024, 4096));
  EXPECT_NEAR(static_cast<double>(TileModel(8).SlicePs(1024, 4096)) / one, 1.0 / 8,
              1e-5);
  // 64 heads over 48 ranks: the fullest rank has two.
  EXPECT_NEAR(static_cast<double>(TileModel(48).SlicePs(1024, 4096)) / one, 2.0 / 64,
              1e-5);
}

TEST(KernelLatencyTable, ScalesTilesByHeadSizeAndBlocksByMultiprocessors) {
  ModelSpec model = SeventyB();
  model.head_size = 64;
  HardwareSpec hardware = H100();
  hardware.multiprocessors = 66;
  const auto table = KernelLatencyTable::FromTileModel(model, hardware, 8);
  ASSERT_TRUE(table.ok()) << table.status();
  const double expected = 2 * TileByTile(1024, 4096, 8, 64);
  EXPECT_NEAR(static_cast<double>(table->SlicePs(1024, 4096)), expected, 10);
  EXPECT_EQ(table->launch_ns(), 1400);
}

TEST(KernelLatencyTable, HasTheMeasuredValueAtEveryKnot) {
  const std::vector<uint32_t> q_lens = {128, 256, 1024};
  const std::vector<uint32_t> kv_lens = {128, 512, 1024, 4096};
  const std::vector<int64_t> slice_ns = {1000, 1600,  2400, 8000, -1,   2000,
                                         4000, 12000, -1,   -1,   9000, 40000};
  const KernelLatencyTable table = Measured(q_lens, kv_lens, slice_ns);
  for (size_t i = 0; i < q_lens.size(); ++i) {
    for (size_t j = 0; j < kv_lens.size(); ++j) {
      if (kv_lens[j] < q_lens[i]) continue;
      EXPECT_EQ(table.SliceNs(q_lens[i], kv_lens[j]), slice_ns[i * 4 + j])
          << q_lens[i] << " queries, " << kv_lens[j] << " keys";
    }
  }
  EXPECT_EQ(table.launch_ns(), 1500);
}

TEST(KernelLatencyTable, InterpolatesPerQueryBlockBetweenKnots) {
  const KernelLatencyTable table =
      Measured({128, 384}, {512, 1536}, {1000, 3000, 6000, 15000});
  // Per block: 1,000 and 3,000 ns for one block, 2,000 and 5,000 for one of three.
  EXPECT_EQ(table.SliceNs(128, 1024), 2000);
  EXPECT_EQ(table.SliceNs(384, 1024), 3 * 3500);
  EXPECT_EQ(table.SliceNs(256, 512), 2 * 1500);
  EXPECT_EQ(table.SliceNs(256, 1024), 2 * 2750);
}

TEST(KernelLatencyTable, ContinuesTheLastSegmentBeyondTheGrid) {
  const KernelLatencyTable table =
      Measured({128, 384}, {512, 1536}, {1000, 3000, 6000, 15000});
  EXPECT_EQ(table.SliceNs(128, 2560), 5000);
  EXPECT_EQ(table.SliceNs(640, 1536), 5 * 7000);
  // Down to one block of queries against one of keys: 1,000 - 750.
  EXPECT_EQ(table.SliceNs(128, 128), 250);
}

TEST(KernelLatencyTable, FillsCellsBelowTheDiagonalAlongTheKeys) {
  // Row 256 has one measured cell: it takes the slope of the row above, 10 ns a block.
  const KernelLatencyTable table = Measured({128, 256, 512}, {128, 384, 512},
                                            {100, 120, 130,  //
                                             -7, 300, 320,   //
                                             -7, -7, 800});
  EXPECT_THAT(table.block_ps(), ::testing::ElementsAre(100'000, 120'000, 130'000,  //
                                                       130'000, 150'000, 160'000,  //
                                                       170'000, 190'000, 200'000));
}

TEST(KernelLatencyTable, NeverPredictsLessThanTheCheapestPairOfTiles) {
  // The latency falls with the queries: extrapolated far, the line would reach zero.
  const KernelLatencyTable table =
      Measured({128, 256}, {256, 1024}, {1000, 4000, 600, 2400});
  // The least per pair of tiles: 600 ns / 2 blocks / 2 tiles.
  EXPECT_EQ(table.SliceNs(12'800, 12'800), 100 * 150);
  std::mt19937_64 random(11);
  for (int i = 0; i < 1000; ++i) {
    const uint32_t kv_len = testing::Draw(random, 1, kLongestSide);
    const uint32_t q_len = testing::Draw(random, 1, kv_len);
    ASSERT_GE(table.SlicePs(q_len, kv_len), 150'000);
  }
}

TEST(KernelLatencyTable, FindsTheSegmentInLongAxesAsInShortOnes) {
  std::vector<uint32_t> knots;
  for (uint32_t i = 1; i <= 40; ++i) knots.push_back(128 * i * i);
  std::vector<int64_t> slice_ns;
  for (const uint32_t q_len : knots) {
    for (const uint32_t kv_len : knots) {
      const int64_t blocks = q_len / 128;
      slice_ns.push_back(blocks * (10'000 + 100 * int64_t{kv_len / 128} - 50 * blocks));
    }
  }
  const KernelLatencyTable table = Measured(knots, knots, slice_ns);
  for (uint32_t q_len = 128; q_len <= knots.back(); q_len += 128 * 37) {
    for (uint32_t kv_len = q_len; kv_len <= knots.back(); kv_len += 128 * 41) {
      const int64_t blocks = q_len / 128;
      EXPECT_EQ(table.SliceNs(q_len, kv_len),
                blocks * (10'000 + 100 * int64_t{kv_len / 128} - 50 * blocks));
    }
  }
}

TEST(KernelLatencyTable, SaturatesAtTheLongestSlices) {
  const KernelLatencyTable tile_model = TileModel(1);
  EXPECT_EQ(tile_model.SlicePs(kLongestSide, kLongestSide), kMaxInt64);
  const double exact_ns =
      64.0 / 132 / 0.8 * 1e3 * (4.35 * 0x1p24 + 1.547 * 0x1p24 * (0x1p24 + 1) / 2);
  EXPECT_NEAR(static_cast<double>(tile_model.SliceNs(kLongestSide, kLongestSide)),
              exact_ns, 1e-9 * exact_ns);
  constexpr int64_t kMost = KernelLatencyTable::kMaxBlockPs;
  const auto steep = KernelLatencyTable::FromGrid({128, 256}, {128, 256},
                                                  {0, kMost, -kMost, kMost}, 0);
  ASSERT_TRUE(steep.ok()) << steep.status();
  EXPECT_EQ(steep->SlicePs(kLongestSide, kLongestSide), kMaxInt64);
  EXPECT_EQ(steep->SliceNs(kLongestSide, kLongestSide), kMaxInt64);
}

TEST(KernelLatencyTable, ComesBackTheSameFromItsColumns) {
  const KernelLatencyTable tables[] = {
      KernelLatencyTable(), TileModel(4),
      Measured({128, 512}, {128, 512, 640}, {100, 120, 130, 0, 600, 700})};
  for (const KernelLatencyTable& table : tables) {
    const auto again = KernelLatencyTable::FromGrid(
        table.q_lens(), table.kv_lens(), table.block_ps(), table.launch_ns());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, table);
    for (const uint32_t q_len : {1u, 200u, 1'000u, 100'000u}) {
      EXPECT_EQ(again->SlicePs(q_len, 2 * q_len), table.SlicePs(q_len, 2 * q_len));
    }
  }
  EXPECT_NE(tables[1], tables[2]);
  EXPECT_NE(tables[1], TileModel(8));
}

TEST(KernelLatencyTable, RefusesWhatIsNoGrid) {
  const std::string too_long = "2147483776";
  const struct {
    std::vector<uint32_t> q_lens;
    std::vector<uint32_t> kv_lens;
    std::vector<int64_t> slice_ns;
    int64_t launch_ns;
    const char* field;
    const char* value;
    const char* accepted;
  } cases[] = {
      {{128}, {128, 256}, {1, 2}, 0, "q_lens", "1 knots", "2 to 512 knots"},
      {{128, 256}, {}, {}, 0, "kv_lens", "0 knots", "2 to 512 knots"},
      {{128, 200},
       {128, 256},
       {1, 2, 3, 4},
       0,
       "q_lens[1]",
       "200",
       "a multiple of 128 above 128"},
      {{0, 128}, {128, 256}, {1, 2, 3, 4}, 0, "q_lens[0]", "0", "a multiple of 128"},
      {{128, 256}, {256, 256}, {1, 2, 3, 4}, 0, "kv_lens[1]", "256", "above 256"},
      {{128, 256},
       {128, 2147483776},
       {1, 2, 3, 4},
       0,
       "kv_lens[1]",
       too_long.c_str(),
       "at most 2147483648"},
      {{128, 256}, {128, 256}, {1, 2, 3}, 0, "slice_ns", "3 values", "4 values"},
      {{128, 256}, {128, 256}, {1, 2, 3, 4}, -1, "launch_ns", "-1", "0 to 1000000000"},
      {{128, 256}, {128, 256}, {1, -2, 3, 4}, 0, "slice_ns[1]", "-2", "0 to "},
      {{128, 256},
       {128, 256},
       {1, kMaxInt64, 3, 4},
       0,
       "slice_ns[1]",
       "9223372036854775807",
       "0 to 1125899906842"},
      {{256, 384},
       {128, 384},
       {1, 2, 3, 4},
       0,
       "q_lens[0]",
       "256",
       "at most 128, so that two kv_lens reach its diagonal"},
      {{128, 512},
       {128, 384},
       {1, 2, 3, 4},
       0,
       "q_lens[1]",
       "512",
       "at most 384, the last kv_len"},
  };
  for (const auto& refused : cases) {
    EXPECT_THAT(
        KernelLatencyTable::FromMeasurements(refused.q_lens, refused.kv_lens,
                                             refused.slice_ns, refused.launch_ns),
        RefusesField(refused.field, refused.value, refused.accepted));
  }
}

TEST(KernelLatencyTable, RefusesStoredCellsOutOfRange) {
  constexpr int64_t kMost = KernelLatencyTable::kMaxBlockPs;
  const std::vector<uint32_t> knots = {128, 256};
  EXPECT_THAT(KernelLatencyTable::FromGrid(knots, knots, {1, 1, -5, -1}, 0),
              RefusesField("block_ps[3]", "-1", "0 to 1125899906842624"));
  EXPECT_THAT(KernelLatencyTable::FromGrid(knots, knots, {1, 1, -kMost - 1, 1}, 0),
              RefusesField("block_ps[2]", "-1125899906842625", "-1125899906842624"));
  EXPECT_THAT(KernelLatencyTable::FromGrid(knots, knots, {1, kMost + 1, 0, 1}, 0),
              RefusesField("block_ps[1]", "1125899906842625", "0 to "));
  EXPECT_THAT(KernelLatencyTable::FromGrid({}, {}, {}, 5),
              RefusesField("q_lens", "0 knots", "2 to 512"));
}

TEST(KernelLatencyTable, RefusesATileModelOfBadSpecs) {
  ModelSpec model = SeventyB();
  model.kv_heads = 7;
  EXPECT_THAT(KernelLatencyTable::FromTileModel(model, H100(), 1),
              RefusesField("model.query_heads", "64", "model.kv_heads = 7"));
  HardwareSpec hardware = H100();
  hardware.multiprocessors = 0;
  EXPECT_THAT(KernelLatencyTable::FromTileModel(SeventyB(), hardware, 1),
              RefusesField("hardware.multiprocessors", "0", "1 to 65535"));
  for (const uint32_t tensor_parallel : {0u, 1025u}) {
    EXPECT_THAT(
        KernelLatencyTable::FromTileModel(SeventyB(), H100(), tensor_parallel),
        RefusesField("tensor_parallel", std::to_string(tensor_parallel), "1 to 1024"));
  }
}

}  // namespace
}  // namespace evenpack
