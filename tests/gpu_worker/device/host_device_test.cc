#include "gpu_worker/device/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/testing/status_matchers.h"

// Sanitizers end a program that asks for too much, unless they are told to refuse it.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostDeviceTest, GivesMemoryThatMayBeUsed) {
  const auto memory = Device::Host().Allocate(100);
  ASSERT_THAT(memory, IsOk());
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*memory)->data()) % 64, 0U);
  EXPECT_THAT(Device::Host().Zero((*memory)->data(), 100, 100, 1), IsOk());
  EXPECT_EQ(static_cast<const char*>((*memory)->data())[99], 0);
  EXPECT_EQ(Device::Host().Allocate(0).value()->data(), nullptr);
}

TEST(HostDeviceTest, WhatItDoesNotHaveIsAnError) {
  const size_t bytes = std::numeric_limits<size_t>::max() / 4;
  EXPECT_THAT(Device::Host().Allocate(bytes).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("has no 4611686018427387903 bytes more")));
}

TEST(HostDeviceTest, RowsBecomeNoughtAndWhatIsBetweenThemStays) {
  std::vector<int> rows(9, 7);
  EXPECT_THAT(Device::Host().Zero(rows.data(), 2 * sizeof(int), 3 * sizeof(int), 2),
              IsOk());
  EXPECT_THAT(rows, ElementsAre(0, 0, 7, 0, 0, 7, 7, 7, 7));
  EXPECT_THAT(Device::Host().Zero(nullptr, 8, 8, 0), IsOk());
}

TEST(HostDeviceTest, RowsAreCopied) {
  const std::vector<int> from = {0, 1, 2, 3, 4, 5};
  std::vector<int> to(4, 7);
  const std::vector<RowCopy> copies = {
      {from.data() + 1, 2 * sizeof(int), to.data() + 1, sizeof(int), sizeof(int), 3}};
  EXPECT_THAT(Device::Host().CopyRows(copies), IsOk());
  EXPECT_THAT(to, ElementsAre(7, 1, 3, 5));
}

TEST(HostDeviceTest, RowsAreAddedToThoseThatTheyGoTo) {
  std::vector<float> from(8);
  std::iota(from.begin(), from.end(), 1.0F);
  std::vector<float> sums(12, 100);
  // To the second and third of three columns.
  std::vector<RowCopy> rows;
  AppendCopies({from.data(), 8, sums.data() + 1, 12},
               std::vector<RowMove>{{0, 2, 1}, {1, 0, 2}}, 8, rows);
  EXPECT_THAT(Device::Host().AddRows(rows), IsOk());
  EXPECT_THAT(sums,
              ElementsAre(100, 103, 104, 100, 105, 106, 100, 101, 102, 100, 100, 100));
}

TEST(HostDeviceTest, SumsAreRoundedToTheType) {
  const std::vector<float> from = {1, -2.5F};
  std::vector<uint16_t> halves(2);
  EXPECT_THAT(
      Device::Host().Convert(ElementType::kBfloat16, from.data(), 2, halves.data()),
      IsOk());
  EXPECT_THAT(halves, ElementsAre(ToBfloat16(1), ToBfloat16(-2.5F)));
}

TEST(HostDeviceTest, NumbersGoThereAndBack) {
  const std::vector<int> numbers = {4, 5};
  std::vector<int> there(2);
  std::vector<int> back(2);
  EXPECT_THAT(Device::Host().CopyFromHost(numbers.data(), 8, there.data()), IsOk());
  EXPECT_THAT(Device::Host().CopyToHost(there.data(), 8, back.data()), IsOk());
  EXPECT_EQ(back, numbers);
}

}  // namespace
}  // namespace evenpack::worker
