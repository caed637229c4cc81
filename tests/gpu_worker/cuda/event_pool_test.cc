#include "gpu_worker/cuda/event_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using evenpack::testing::TakeMisuse;
using ::testing::_;

class EventPoolTest : public evenpack::testing::FakeDeviceTest {
 protected:
  FakeDevice device_;
  EventPool pool_{device_.context(), CudaEvent::Use::kSleepingAwait};
};

TEST_F(EventPoolTest, AnEventIsAtWhatTheStreamHasBeenGiven) {
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  const auto event = pool_.Recorded(device_.compute()).value();
  EXPECT_FALSE(event->IsReached().value());
  gate.Open();
  EXPECT_THAT(event->Await(), IsOk());
}

TEST_F(EventPoolTest, OneThatWasGivenBackIsRecordedAnew) {
  auto first = pool_.Recorded(device_.compute()).value();
  const auto second = pool_.Recorded(device_.compute()).value();
  EXPECT_NE(first, second);
  const CudaEvent* const given_back = first.get();
  pool_.GiveBack(std::move(first));
  const size_t live = fakeCudaLive();
  const auto third = pool_.Recorded(device_.compute()).value();
  EXPECT_EQ(third.get(), given_back);
  EXPECT_EQ(fakeCudaLive(), live);
}

TEST_F(EventPoolTest, OneThatCouldNotBeRecordedIsKept) {
  pool_.GiveBack(pool_.Recorded(device_.compute()).value());
  const size_t live = fakeCudaLive();
  EXPECT_THAT(pool_.Recorded(nullptr).status(),
              StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_NE(TakeMisuse(), "");
  fakeCudaReset();
  EXPECT_THAT(pool_.Recorded(device_.compute()), IsOk());
  EXPECT_EQ(fakeCudaLive(), live - 1);
}

}  // namespace
}  // namespace evenpack::worker
