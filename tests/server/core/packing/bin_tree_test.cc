#include "server/core/packing/bin_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

struct Bin {
  int64_t workload = 0;
  int64_t length = 0;
  bool closed = false;
};

uint32_t Searched(const std::vector<Bin>& bins, int64_t longest) {
  uint32_t best = kLeftOver;
  for (uint32_t i = 0; i < bins.size(); ++i) {
    if (bins[i].closed || bins[i].length > longest) continue;
    if (best == kLeftOver || bins[i].workload < bins[best].workload) best = i;
  }
  return best;
}

TEST(BinTreeTest, StartsAtTheLowestIndex) {
  for (const size_t size : {1U, 2U, 3U, 64U, 65U}) {
    EXPECT_EQ(BinTree(size).LeastWithin(0), 0U) << size;
    EXPECT_EQ(BinTree(size).LeastWithin(-1), kLeftOver) << size;
  }
}

TEST(BinTreeTest, AgreesWithASearchOverAllBins) {
  for (const size_t size : {1U, 2U, 5U, 16U, 37U}) {
    std::mt19937_64 random(size);
    BinTree tree(size);
    std::vector<Bin> bins(size);
    for (int i = 0; i < 2000; ++i) {
      const size_t bin = testing::Draw(random, 0, static_cast<uint32_t>(size) - 1);
      if (testing::Draw(random, 0, 19) == 0) {
        tree.Close(bin);
        bins[bin].closed = true;
      } else {
        bins[bin] = {testing::Draw(random, 0, 9), testing::Draw(random, 0, 9), false};
        tree.Set(bin, bins[bin].workload, bins[bin].length);
      }
      for (const int64_t longest : {0, 4, 9}) {
        ASSERT_EQ(tree.LeastWithin(longest), Searched(bins, longest));
      }
    }
  }
}

}  // namespace
}  // namespace evenpack
