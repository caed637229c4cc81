#include "server/app/spare_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/metrics/process_figures.h"

namespace evenpack {
namespace {

constexpr size_t kKept = SparePace::kKept;
constexpr size_t kMost = SparePace::kMost;

TEST(SparePaceTest, WhatIsSpareTwiceIsGivenBackButForSome) {
  SparePace pace;
  EXPECT_EQ(pace.Next(kKept + 1000), 0U);
  EXPECT_EQ(pace.Next(kKept + 1000), 1000U);
  EXPECT_EQ(pace.Next(kKept), 0U);
}

TEST(SparePaceTest, WhatWasNeededInBetweenIsKept) {
  SparePace pace;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(pace.Next(kKept + kMost), 0U);
    EXPECT_EQ(pace.Next(kKept / 2), 0U);
  }
}

TEST(SparePaceTest, MuchIsGivenBackPartByPart) {
  SparePace pace;
  size_t spare = kKept + 2 * kMost + 1000;
  EXPECT_EQ(pace.Next(spare), 0U);
  for (const size_t part : {kMost, kMost, size_t{1000}, size_t{0}}) {
    EXPECT_EQ(pace.Next(spare), part);
    spare -= part;
  }
}

TEST(SpareMemoryTest, WhatIsSpareGoesBackToTheSystem) {
  constexpr size_t kBlock = 64 << 10;
  constexpr size_t kBlocks = 4096;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
  }
  // What lies behind it can't be given back by itself.
  const std::unique_ptr<char[]> last = std::move(blocks.back());
  const size_t before = SpareBytes();
  blocks.clear();
  const size_t spare = SpareBytes();
  EXPECT_GT(spare, before + kBlock * kBlocks * 3 / 4);
  const uint64_t resident = ResidentBytes().value();
  GiveBackSpare(spare);
  EXPECT_LT(SpareBytes(), spare / 4);
  EXPECT_LT(ResidentBytes().value(), resident - kBlock * kBlocks / 2);
}

}  // namespace
}  // namespace evenpack
