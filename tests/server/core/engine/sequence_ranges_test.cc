#include "server/core/engine/sequence_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(SequenceRangesTest, WhatTouchesBecomesOne) {
  SequenceRanges ranges;
  AddRange({10, 20}, ranges);
  AddRange({30, 40}, ranges);
  AddRange({0, 5}, ranges);
  EXPECT_EQ(ranges, (SequenceRanges{{0, 5}, {10, 20}, {30, 40}}));
  AddRange({5, 10}, ranges);
  EXPECT_EQ(ranges, (SequenceRanges{{0, 20}, {30, 40}}));
  AddRange({15, 100}, ranges);
  EXPECT_EQ(ranges, (SequenceRanges{{0, 100}}));
  AddRange({3, 4}, ranges);
  EXPECT_EQ(ranges, (SequenceRanges{{0, 100}}));
}

TEST(SequenceRangesTest, OnlyRisingSeparateRangesAreRanges) {
  EXPECT_TRUE(AreRanges({}));
  EXPECT_TRUE(AreRanges({{0, 1}, {2, 3}}));
  EXPECT_FALSE(AreRanges({{1, 1}}));
  EXPECT_FALSE(AreRanges({{2, 1}}));
  EXPECT_FALSE(AreRanges({{0, 2}, {2, 3}}));
  EXPECT_FALSE(AreRanges({{5, 6}, {0, 1}}));
}

TEST(SequenceRangesTest, RandomRangesAreASetOfNumbers) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    SequenceRanges ranges;
    std::set<uint64_t> numbers;
    for (uint32_t n = testing::Draw(random, 0, 12); n > 0; --n) {
      const uint64_t first = testing::Draw(random, 0, 60);
      const uint64_t end = first + testing::Draw(random, 1, 8);
      AddRange({first, end}, ranges);
      for (uint64_t number = first; number < end; ++number) numbers.insert(number);
    }
    ASSERT_TRUE(AreRanges(ranges));
    for (uint64_t number = 0; number < 80; ++number) {
      ASSERT_EQ(IsIn(ranges, number), numbers.contains(number));
      uint64_t next = number;
      while (numbers.contains(next)) ++next;
      ASSERT_EQ(NextOutside(ranges, number), next);
    }
  }
}

}  // namespace
}  // namespace evenpack
