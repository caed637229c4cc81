#include "gpu_worker/device/rank_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/profile/timed_work.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker::testing {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;

TEST(RankValuesTest, EachRankHasThoseOfAll) {
  for (const uint32_t ranks : {1U, 2U, 5U}) {
    OnRanks(ranks, [ranks](Communicator& communicator, FakeClock&) {
      const auto values =
          OfAllRanks(communicator, Device::Host(), 10 + communicator.rank());
      ASSERT_THAT(values, IsOk());
      ASSERT_EQ(values->size(), ranks);
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ((*values)[rank], 10 + rank);
      }
      EXPECT_THAT(AwaitRanks(communicator, Device::Host()), IsOk());
    });
  }
}

TEST(RankValuesTest, AnAbortedGroupEndsIt) {
  OnRanks(2, [](Communicator& communicator, FakeClock&) {
    if (communicator.rank() == 0) {
      communicator.Abort(absl::AbortedError("enough"));
    } else {
      EXPECT_THAT(AwaitRanks(communicator, Device::Host()),
                  StatusIs(absl::StatusCode::kAborted, ::testing::_));
    }
  });
}

}  // namespace
}  // namespace evenpack::worker::testing
