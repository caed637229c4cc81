#include "gpu_worker/profile/measured_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/profile/timed_work.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker::testing {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class Counter final : public ProfileListener {
 public:
  void OnSlice(const MeasuredSlice&) override { ++slices; }
  void OnExchange(const MeasuredExchange&) override { ++exchanges; }
  int slices = 0;
  int exchanges = 0;
};

ProfileOptions Options() {
  ProfileOptions options;
  options.shape.query_heads = 2;
  options.longest = 512;
  options.most_exchange_bytes = 16384;
  return options;
}

TEST(MeasuredProfileTest, HasTheGridAndTheExchangesOfItsGroup) {
  for (const uint32_t ranks : {1U, 2U}) {
    OnRanks(ranks, [ranks](Communicator& communicator, FakeClock& clock) {
      TimedEngine engine(clock);
      Counter listener;
      const auto profile = MeasureProfile(Options(), clock, Device::Host(), engine,
                                          communicator, listener);
      ASSERT_THAT(profile, IsOk());
      EXPECT_EQ(profile->shape, Options().shape);
      EXPECT_EQ(profile->ranks, ranks);
      EXPECT_EQ(profile->attention.slices.size(), 9U);
      EXPECT_EQ(profile->exchanges.size(), ranks == 1 ? 0U : 2U);
      EXPECT_EQ(listener.slices, 6);
      EXPECT_EQ(listener.exchanges, ranks == 1 ? 0 : 2);
    });
  }
}

TEST(MeasuredProfileTest, ARankThatFailsEndsTheWorkOfItsPeers) {
  OnRanks(2, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    if (communicator.rank() == 1) engine.FailWith(absl::InternalError("broken"));
    Counter listener;
    const auto profile = MeasureProfile(Options(), clock, Device::Host(), engine,
                                        communicator, listener);
    if (communicator.rank() == 1) {
      EXPECT_THAT(profile.status(), StatusIs(absl::StatusCode::kInternal, "broken"));
    } else {
      EXPECT_THAT(profile.status(), StatusIs(absl::StatusCode::kAborted,
                                             HasSubstr("cp_rank 1 failed: broken")));
    }
  });
}

TEST(MeasuredProfileTest, AShapeThatIsNoneIsRefused) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    Counter listener;
    ProfileOptions options = Options();
    options.shape.head_size = 65;
    EXPECT_THAT(
        MeasureProfile(options, clock, Device::Host(), engine, communicator, listener)
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_size")));
    EXPECT_EQ(engine.calls(), 0);
  });
}

}  // namespace
}  // namespace evenpack::worker::testing
