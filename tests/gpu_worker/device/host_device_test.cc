#include "gpu_worker/device/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
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

// Of both tensors; the last row has no term.
TEST(HostDeviceTest, RowsAreSumsOfTheTermsThatGoToThem) {
  const std::vector<float> first = {1, 2, 3, 4, 5, 6};
  const std::vector<float> other = {10, 20, 30, 40, 50, 60};
  const std::vector<uint16_t> halves = {ToBfloat16(0.5F), ToBfloat16(-0.5F)};
  const std::vector<RowMove> moves = {{1, 0, 1}, {0, 2, 1}, {2, 3, 1}};
  const std::vector<RowMove> one = {{0, 2, 1}};
  const std::vector<RowTerm> terms = {
      {ElementType::kFloat32, {first.data(), other.data()}, 8, moves},
      {ElementType::kBfloat16, {halves.data(), halves.data()}, 4, one}};
  // Columns of wider rows.
  std::vector<float> keys(15, 7);
  std::vector<float> values(15, 7);
  EXPECT_THAT(Device::Host().SumRows(terms, {ElementType::kFloat32,
                                             {keys.data() + 1, values.data() + 1},
                                             3 * sizeof(float),
                                             2,
                                             5}),
              IsOk());
  EXPECT_THAT(keys, ElementsAre(7, 3, 4, 7, 0, 0, 7, 1.5F, 1.5F, 7, 5, 6, 7, 0, 0));
  EXPECT_THAT(values,
              ElementsAre(7, 30, 40, 7, 0, 0, 7, 10.5F, 19.5F, 7, 50, 60, 7, 0, 0));
}

TEST(HostDeviceTest, SumsAreRoundedToTheType) {
  const std::vector<float> from = {1, -2.5F};
  const std::vector<RowMove> moves = {{0, 0, 1}};
  const std::vector<RowTerm> terms = {
      {ElementType::kFloat32, {from.data(), from.data()}, 8, moves}};
  std::vector<uint16_t> halves(4);
  EXPECT_THAT(
      Device::Host().SumRows(
          terms, {ElementType::kBfloat16, {halves.data(), halves.data() + 2}, 4, 2, 1}),
      IsOk());
  const uint16_t one = ToBfloat16(1);
  const uint16_t other = ToBfloat16(-2.5F);
  EXPECT_THAT(halves, ElementsAre(one, other, one, other));
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
