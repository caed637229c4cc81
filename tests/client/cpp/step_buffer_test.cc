#include "client/cpp/step_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/test_history.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::TestHistory;

constexpr uint64_t kRoomy = 1 << 30;

class StepBufferTest : public ::testing::Test {
 protected:
  RankStep Step(uint64_t index) const {
    return *RankStep::FromMessage(history_.Step(index).step(),
                                  std::make_shared<const v1::JobSpec>());
  }
  void Push(StepBuffer& buffer, uint64_t from, uint64_t to) const {
    for (uint64_t index = from; index <= to; ++index) buffer.Push(Step(index));
  }

  const TestHistory history_{24};
};

TEST_F(StepBufferTest, GivesStepsBackInOrder) {
  StepBuffer buffer({8, kRoomy, 4});
  EXPECT_TRUE(buffer.empty());
  Push(buffer, 3, 5);
  EXPECT_EQ(buffer.size(), 3U);
  EXPECT_EQ(buffer.bytes(),
            Step(3).memory_bytes() + Step(4).memory_bytes() + Step(5).memory_bytes());
  EXPECT_EQ(buffer.Pop().index(), 3U);
  EXPECT_EQ(buffer.Pop().index(), 4U);
  EXPECT_EQ(buffer.bytes(), Step(5).memory_bytes());
  buffer.Clear();
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.bytes(), 0U);
}

TEST_F(StepBufferTest, StepsAreMarkedReceivedWhenTheyComeWhileThereIsRoom) {
  StepBuffer buffer({10, kRoomy, 4});
  buffer.BeginCall(2);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  // Up to there the steps here and the four that may come are ten at most.
  for (uint64_t index = 2; index < 8; ++index) {
    buffer.Push(Step(index));
    EXPECT_EQ(buffer.TakeReceived(), index);
  }
  Push(buffer, 8, 11);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  EXPECT_FALSE(buffer.HasRoom());
  // One for each that the trainer takes.
  buffer.Pop();
  EXPECT_TRUE(buffer.HasRoom());
  EXPECT_EQ(buffer.TakeReceived(), 8U);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  buffer.Pop();
  buffer.Pop();
  EXPECT_EQ(buffer.TakeReceived(), 10U);
}

TEST_F(StepBufferTest, TheMemoryOfStepsBoundsThemToo) {
  uint64_t largest = 0;
  for (uint64_t index = 0; index < 24; ++index) {
    largest = std::max<uint64_t>(largest, Step(index).memory_bytes());
  }
  StepBuffer buffer({1000, 6 * largest, 2});
  buffer.BeginCall(0);
  uint64_t sent = 0;
  // A server that sends what it may.
  for (uint64_t end = 2; sent < end; ++sent) {
    buffer.Push(Step(sent));
    EXPECT_LE(buffer.bytes(), 6 * largest);
    if (const auto step = buffer.TakeReceived()) end = *step + 3;
  }
  EXPECT_GE(buffer.size(), 6U);
  EXPECT_FALSE(buffer.HasRoom());
  buffer.Pop();
  EXPECT_TRUE(buffer.HasRoom());
}

TEST_F(StepBufferTest, AnEmptyBufferMayHaveAStepOfAnySize) {
  StepBuffer buffer({8, 1, 2});
  buffer.BeginCall(0);
  Push(buffer, 0, 1);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  buffer.Pop();
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  EXPECT_FALSE(buffer.HasRoom());
  buffer.Pop();
  EXPECT_TRUE(buffer.HasRoom());
  // One at a time from here on.
  EXPECT_EQ(buffer.TakeReceived(), 0U);
  buffer.Push(Step(2));
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  buffer.Pop();
  EXPECT_EQ(buffer.TakeReceived(), 1U);
}

TEST_F(StepBufferTest, ACallAsksForNoMoreThanMayWait) {
  EXPECT_EQ(StepBuffer({10, kRoomy, 4}).credits(), 4U);
  EXPECT_EQ(StepBuffer({3, kRoomy, 4}).credits(), 3U);
}

TEST_F(StepBufferTest, ANewCallKnowsNothingOfTheStepsOfTheOld) {
  StepBuffer buffer({6, kRoomy, 4});
  buffer.BeginCall(0);
  Push(buffer, 0, 3);
  EXPECT_EQ(buffer.TakeReceived(), 1U);
  buffer.BeginCall(4);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  // It has all its credits, and gives none back until there is room.
  Push(buffer, 4, 7);
  EXPECT_EQ(buffer.TakeReceived(), std::nullopt);
  for (int i = 0; i < 3; ++i) buffer.Pop();
  EXPECT_EQ(buffer.size(), 5U);
  EXPECT_EQ(buffer.TakeReceived(), 4U);
}

}  // namespace
}  // namespace evenpack::client
