#include "gpu_worker/executor/pass_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "gpu_worker/device/host_device.h"
#include "tests/testing/fake_clock.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeClock;
using std::chrono::nanoseconds;

TEST(PassTimerTest, WhereCallsReturnWhenTheyAreDoneAClockTells) {
  FakeClock clock;
  const auto timer = PassTimer::Begin(Device::Host(), clock);
  clock.Advance(nanoseconds(1000));
  for (int call = 0; call < 2; ++call) {
    timer->BeginComputing();
    clock.Advance(nanoseconds(10));
    timer->EndComputing();
    timer->BeginWaiting();
    clock.Advance(nanoseconds(3));
    timer->EndWaiting();
  }
  timer->End();
  EXPECT_TRUE(timer->knows_at_end());
  EXPECT_EQ(timer->Times(), (PassTimes{20, 6}));
}

// Comes to what it is asked when it is let, and takes a given time for the next thing.
class LateDevice final : public HostDevice {
 public:
  absl::StatusOr<std::unique_ptr<DeviceMark>> Mark() override {
    if (fails) return absl::InternalError("broken");
    return std::make_unique<At>(now);
  }

  int64_t now = 0;
  bool fails = false;

 private:
  class At final : public DeviceMark {
   public:
    explicit At(int64_t when) : when_(when) {}
    absl::StatusOr<int64_t> Since(const DeviceMark& earlier) const override {
      return when_ - static_cast<const At&>(earlier).when_;
    }

   private:
    const int64_t when_;
  };
};

TEST(PassTimerTest, OnADeviceAllThatIsNoWaitIsComputing) {
  const FakeClock clock;
  LateDevice device;
  const auto timer = PassTimer::Begin(device, clock);
  device.now += 10;
  timer->BeginComputing();
  device.now += 200;
  timer->EndComputing();
  for (int exchange = 0; exchange < 2; ++exchange) {
    timer->BeginWaiting();
    device.now += 3000;
    timer->EndWaiting();
    device.now += 40000;
  }
  timer->End();
  EXPECT_FALSE(timer->knows_at_end());
  EXPECT_EQ(timer->Times(), (PassTimes{80210, 6000}));
}

TEST(PassTimerTest, APassThatIsNotWholeHasNoTimes) {
  FakeClock clock;
  LateDevice device;
  const auto waiting = PassTimer::Begin(device, clock);
  device.now += 10;
  waiting->BeginWaiting();
  waiting->End();
  waiting->End();
  device.fails = true;
  const auto broken = PassTimer::Begin(device, clock);
  device.fails = false;
  // What the host takes to ask is not what the device takes.
  broken->BeginComputing();
  clock.Advance(nanoseconds(10));
  broken->EndComputing();
  broken->End();
  const auto later = PassTimer::Begin(device, clock);
  device.now += 10;
  device.fails = true;
  later->End();
  EXPECT_EQ(broken->Times(), PassTimes());
  EXPECT_EQ(later->Times(), PassTimes());
}

}  // namespace
}  // namespace evenpack::worker
