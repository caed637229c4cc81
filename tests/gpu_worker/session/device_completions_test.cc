#include "gpu_worker/session/device_completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/gpu_worker/arena/ring.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::OfStep;
using evenpack::testing::Ring;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::HasSubstr;

class DeviceCompletionsTest : public evenpack::testing::FakeDeviceTest {
 protected:
  DeviceCompletionsTest() {
    completions_.emplace(ring_.reader, device_.context(), device_.compute());
  }
  // One is executed: the device has been given what it asks for.
  void Execute(const absl::Status& result) {
    ASSERT_THAT(ring_.writer.Submit(OfStep(1)), IsOk());
    ASSERT_THAT(ring_.reader.Next(), IsOk());
    completions_->Add(result);
  }

  Ring ring_;
  FakeDevice device_;
  StreamGate gate_;
  std::optional<DeviceCompletions> completions_;
};

TEST_F(DeviceCompletionsTest, OthersAreTakenBeforeTheDeviceHasDoneTheFirst) {
  gate_.Close(*device_.context(), device_.compute());
  Execute(absl::OkStatus());
  Execute(absl::OkStatus());
  EXPECT_EQ(ring_.reader.completed(), 0U);
  EXPECT_EQ(ring_.trainers.header().completed.value, 0U);
  gate_.Open();
  EXPECT_THAT(ring_.writer.Wait(2), IsOk());
  EXPECT_EQ(ring_.reader.completed(), 2U);
}

TEST_F(DeviceCompletionsTest, EachIsCompleteWhenTheDeviceHasDoneIt) {
  Execute(absl::OkStatus());
  gate_.Close(*device_.context(), device_.compute());
  Execute(absl::OkStatus());
  EXPECT_THAT(ring_.writer.Wait(1), IsOk());
  EXPECT_EQ(ring_.reader.completed(), 1U);
  gate_.Open();
  completions_->Finish();
  EXPECT_EQ(ring_.reader.completed(), 2U);
}

TEST_F(DeviceCompletionsTest, AFailureComesInItsPlace) {
  gate_.Close(*device_.context(), device_.compute());
  Execute(absl::OkStatus());
  Execute(absl::AbortedError("once more"));
  Execute(absl::OkStatus());
  gate_.Open();
  EXPECT_THAT(ring_.writer.Wait(1), IsOk());
  EXPECT_EQ(ring_.writer.Wait(2), absl::AbortedError("once more"));
  EXPECT_THAT(ring_.writer.Wait(3), IsOk());
}

// The trainer would use its tensors while the device still has them.
TEST_F(DeviceCompletionsTest, WhatHasNoEventIsCompleteNoSoonerAndAnError) {
  gate_.Close(*device_.context(), device_.compute());
  fakeCudaRefuseEvents(true);
  Execute(absl::OkStatus());
  while (ring_.reader.completed() == 0 && !fakeCudaIsAwaited()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(ring_.reader.completed(), 0U);
  gate_.Open();
  EXPECT_THAT(ring_.writer.Wait(1), StatusIs(absl::StatusCode::kResourceExhausted,
                                             HasSubstr("to make an event")));
}

TEST_F(DeviceCompletionsTest, ItsEndWaitsForTheDevice) {
  Execute(absl::OkStatus());
  Execute(absl::OkStatus());
  completions_.reset();
  EXPECT_EQ(ring_.reader.completed(), 2U);
}

TEST_F(DeviceCompletionsTest, EventsAreUsedAgain) {
  size_t live = 0;
  for (uint64_t i = 1; i <= 5; ++i) {
    Execute(absl::OkStatus());
    completions_->Finish();
    if (i == 1) live = fakeCudaLive();
    EXPECT_EQ(fakeCudaLive(), live);
  }
}

// A ring's slots are used again only behind what is complete.
TEST_F(DeviceCompletionsTest, MoreThanTheRingHoldsAreCompletedInOrder) {
  for (uint64_t i = 0; i < 3 * kRingSlots; ++i) Execute(absl::OkStatus());
  EXPECT_THAT(ring_.writer.Wait(3 * kRingSlots), IsOk());
  const auto [started, finished] = ring_.writer.TimesNs(3 * kRingSlots);
  EXPECT_GT(started, 0);
  EXPECT_GE(finished, started);
}

}  // namespace
}  // namespace evenpack::worker
