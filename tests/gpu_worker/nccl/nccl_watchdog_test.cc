#include "gpu_worker/nccl/nccl_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::PassingTime;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::HasSubstr;

// A group of one, whose transfers are what a test puts into its stream.
class NcclWatchdogTest : public evenpack::testing::FakeNcclTest {
 protected:
  NcclWatchdogTest() {
    const auto library = Library();
    nccl::UniqueId id;
    EXPECT_EQ(library->functions().ncclGetUniqueId(&id), nccl::kSuccess);
    connection_ =
        NcclConnection::Connect(library, device_.context(), id, {0, 1}, Timing())
            .value();
  }

  std::unique_ptr<CudaEvent> Recorded() {
    auto event = CudaEvent::Create(device_.context()).value();
    EXPECT_THAT(event->Record(device_.compute()), IsOk());
    return event;
  }
  // A transfer that is done soon, which the watchdog alone keeps.
  std::weak_ptr<const UnderWay> WatchOne(NcclWatchdog& watchdog) {
    const auto transfer = std::make_shared<UnderWay>();
    transfer->begun = Recorded();
    transfer->done = Recorded();
    watchdog.Watch(transfer);
    return transfer;
  }
  absl::Status AwaitAbort() {
    absl::Status status;
    while (status.ok()) {
      std::this_thread::yield();
      status = connection_->Check();
    }
    return status;
  }

  FakeDevice device_;
  std::unique_ptr<NcclConnection> connection_;
};

TEST_F(NcclWatchdogTest, AbortsWhereNcclFoundAnError) {
  const NcclWatchdog watchdog(*connection_, Timing());
  fakeNcclRaise(0, nccl::kRemoteError);
  while (fakeNcclLive() > 0) std::this_thread::yield();
  EXPECT_THAT(connection_->Check(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("remote process")));
}

TEST_F(NcclWatchdogTest, ATransferHasItsTimeFromWhenItBegan) {
  StreamGate gate;
  NcclWatchdog watchdog(*connection_, Timing());
  const auto transfer = std::make_shared<UnderWay>();
  transfer->number = 7;
  transfer->begun = Recorded();
  gate.Close(*device_.context(), device_.compute());
  transfer->done = Recorded();
  watchdog.Watch(transfer);
  const PassingTime time(clock_);
  EXPECT_THAT(AwaitAbort(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("exchange 7 did not end within")));
  gate.Open();
  device_.Synchronize();
}

TEST_F(NcclWatchdogTest, ItLooksBesideAGraphThatATrainerCaptures) {
  const auto trainer =
      CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
  const cuda::Functions& call = device_.context()->functions();
  const CurrentContext current(*device_.context());
  ASSERT_EQ(call.cuStreamBeginCapture_v2(trainer->handle(), cuda::kCaptureGlobal),
            cuda::kSuccess);
  NcclWatchdog watchdog(*connection_, Timing());
  const std::weak_ptr<const UnderWay> watched = WatchOne(watchdog);
  while (!watched.expired() && connection_->Check().ok()) std::this_thread::yield();
  cuda::Graph graph = nullptr;
  EXPECT_EQ(call.cuStreamEndCapture(trainer->handle(), &graph), cuda::kSuccess);
  EXPECT_THAT(connection_->Check(), IsOk());
  if (graph != nullptr) call.cuGraphDestroy(graph);
}

TEST_F(NcclWatchdogTest, WhatIsDoneIsLetGo) {
  NcclWatchdog watchdog(*connection_, Timing());
  const std::weak_ptr<const UnderWay> watched = WatchOne(watchdog);
  while (!watched.expired()) std::this_thread::yield();
  const PassingTime time(clock_);
  const Clock::TimePoint begun = clock_.Now();
  while (clock_.Now() - begun < std::chrono::hours(5)) std::this_thread::yield();
  EXPECT_THAT(connection_->Check(), IsOk());
}

}  // namespace
}  // namespace evenpack::worker
