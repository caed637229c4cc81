#include "server/core/packing/load_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(LoadTreeTest, StartsAtTheLowestIndex) {
  for (const size_t size : {1U, 2U, 3U, 7U, 8U, 4096U}) {
    EXPECT_EQ(LoadTree(size).Least(), 0U) << size;
  }
}

TEST(LoadTreeTest, StartsWithTheLoadsGiven) {
  std::mt19937_64 random(3);
  for (const uint32_t size : {1U, 2U, 3U, 5U, 8U, 13U, 64U, 100U}) {
    std::vector<int64_t> loads(size);
    for (int64_t& load : loads) load = testing::Draw(random, 0, 20);
    // The least goes up each time, so that each bin wins once.
    for (LoadTree tree(loads); *std::min_element(loads.begin(), loads.end()) < 100;) {
      const auto least = std::min_element(loads.begin(), loads.end());
      ASSERT_EQ(tree.Least(), static_cast<size_t>(least - loads.begin()));
      *least = 100;
      tree.Set(tree.Least(), 100);
    }
  }
}

TEST(LoadTreeTest, AgreesWithASearchOverAllBins) {
  std::mt19937_64 random(2);
  for (const uint32_t size : {1U, 2U, 3U, 5U, 8U, 13U, 64U, 100U}) {
    LoadTree tree(size);
    std::vector<int64_t> loads(size, 0);
    for (int round = 0; round < 2000; ++round) {
      const uint32_t bin = testing::Draw(random, 0, size - 1);
      loads[bin] = testing::Draw(random, 0, 20);  // few values: many ties
      tree.Set(bin, loads[bin]);
      const auto least = std::min_element(loads.begin(), loads.end());
      ASSERT_EQ(tree.Least(), static_cast<size_t>(least - loads.begin()));
      ASSERT_EQ(tree.LoadOf(bin), loads[bin]);
    }
  }
}

}  // namespace
}  // namespace evenpack
