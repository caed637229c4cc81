#include "gpu_worker/arena/arena_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "gpu_worker/arena/arena_format.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ArenaAllocatorTest, BlocksLieOneBehindTheOtherAndAligned) {
  ArenaAllocator allocator(1000);
  EXPECT_EQ(*allocator.Allocate(1), 0U);
  EXPECT_EQ(*allocator.Allocate(65), 64U);
  EXPECT_EQ(*allocator.Allocate(0), 192U);
  EXPECT_EQ(allocator.used_bytes(), 256U);
}

TEST(ArenaAllocatorTest, WhatIsNotThereIsRefused) {
  ArenaAllocator allocator(1000);
  ASSERT_THAT(allocator.Allocate(500), IsOk());
  EXPECT_THAT(allocator.Allocate(500),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("500 bytes are not free"),
                             HasSubstr("up to 448"), HasSubstr("of 960"))));
  EXPECT_FALSE(allocator.Allocate(~uint64_t{0}).ok());
}

TEST(ArenaAllocatorTest, FreeBlocksThatTouchAreOne) {
  ArenaAllocator allocator(192);
  const uint64_t a = *allocator.Allocate(64);
  const uint64_t b = *allocator.Allocate(64);
  const uint64_t c = *allocator.Allocate(64);
  EXPECT_FALSE(allocator.Allocate(1).ok());
  allocator.Free(a);
  allocator.Free(c);
  EXPECT_FALSE(allocator.Allocate(128).ok());
  allocator.Free(b);
  EXPECT_EQ(*allocator.Allocate(192), 0U);
}

TEST(ArenaAllocatorTest, BlocksNeverOverlapAndNoneIsLost) {
  std::mt19937_64 random(3);
  constexpr uint64_t kBytes = 64 * 1000;
  ArenaAllocator allocator(kBytes);
  std::map<uint64_t, uint64_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (Draw(random, 0, 1) == 0 && !taken.empty()) {
      auto block = taken.begin();
      std::advance(block, Draw(random, 0, static_cast<uint32_t>(taken.size() - 1)));
      allocator.Free(block->first);
      taken.erase(block);
      continue;
    }
    const uint64_t bytes = Draw(random, 1, 5000);
    const auto offset = allocator.Allocate(bytes);
    if (!offset.ok()) continue;
    EXPECT_EQ(*offset % kTensorAlignment, 0U);
    const auto next = taken.lower_bound(*offset);
    if (next != taken.end()) {
      EXPECT_LE(*offset + bytes, next->first);
    }
    if (next != taken.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second, *offset);
    }
    taken.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : taken) allocator.Free(offset);
  EXPECT_EQ(allocator.used_bytes(), 0U);
  EXPECT_THAT(allocator.Allocate(kBytes), IsOk());
}

TEST(ArenaAllocatorTest, WhatWasNotAllocatedIsNotFreed) {
  ArenaAllocator allocator(1000);
  ASSERT_THAT(allocator.Allocate(64), IsOk());
  allocator.Free(64);
  EXPECT_EQ(allocator.used_bytes(), 64U);
}

}  // namespace
}  // namespace evenpack::worker
