#include "gpu_worker/executor/timed_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeClock;
using evenpack::testing::StatusIs;
using std::chrono::nanoseconds;

// Calls take so long, and fail.
class SlowEngine final : public AttentionEngine {
 public:
  explicit SlowEngine(FakeClock& clock) : clock_(clock) {}
  absl::Status Forward(const AttentionCall&, const ForwardResult&) override {
    clock_.Advance(nanoseconds(10));
    return absl::InternalError("forward");
  }
  absl::Status Backward(const AttentionCall&, const BackwardInput&,
                        const BackwardResult&) override {
    clock_.Advance(nanoseconds(300));
    return absl::InternalError("backward");
  }

 private:
  FakeClock& clock_;
};

// Starting an exchange takes 1 ns, waiting for it 50.
class SlowGroup final : public Communicator {
 public:
  explicit SlowGroup(FakeClock& clock) : clock_(clock) {}
  uint32_t rank() const override { return 3; }
  uint32_t size() const override { return 7; }
  std::unique_ptr<Transfer> Start(const Exchange&) override {
    clock_.Advance(nanoseconds(1));
    return std::make_unique<SlowTransfer>(clock_);
  }
  void Abort(const absl::Status& reason) override { aborted = reason; }
  absl::Status aborted;

 private:
  class SlowTransfer final : public Transfer {
   public:
    explicit SlowTransfer(FakeClock& clock) : clock_(clock) {}
    absl::Status Wait() override {
      clock_.Advance(nanoseconds(50));
      return absl::UnavailableError("wait");
    }

   private:
    FakeClock& clock_;
  };

  FakeClock& clock_;
};

TEST(TimedCallsTest, CallsOfTheEngineAreComputing) {
  FakeClock clock;
  SlowEngine slow(clock);
  const auto timer = PassTimer::Begin(Device::Host(), clock);
  TimedEngine engine(slow, timer);
  EXPECT_THAT(engine.Forward({}, {}), StatusIs(absl::StatusCode::kInternal, "forward"));
  EXPECT_EQ(timer->Times(), (PassTimes{10, 0}));
  EXPECT_THAT(engine.Backward({}, {}, {}),
              StatusIs(absl::StatusCode::kInternal, "backward"));
  EXPECT_EQ(timer->Times(), (PassTimes{310, 0}));
}

TEST(TimedCallsTest, WaitsForTransfersAreWaiting) {
  FakeClock clock;
  SlowGroup slow(clock);
  const auto timer = PassTimer::Begin(Device::Host(), clock);
  TimedCommunicator communicator(slow, timer);
  EXPECT_EQ(communicator.rank(), 3U);
  EXPECT_EQ(communicator.size(), 7U);
  const std::unique_ptr<Transfer> transfer = communicator.Start({});
  clock.Advance(nanoseconds(1000));
  EXPECT_EQ(timer->Times(), (PassTimes{0, 0}));
  EXPECT_THAT(transfer->Wait(), StatusIs(absl::StatusCode::kUnavailable, "wait"));
  EXPECT_EQ(timer->Times(), (PassTimes{0, 50}));
  communicator.Abort(absl::AbortedError("enough"));
  EXPECT_EQ(slow.aborted.message(), "enough");
}

}  // namespace
}  // namespace evenpack::worker
