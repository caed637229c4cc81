#include "gpu_worker/profile/exchange_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu_worker/profile/timed_work.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker::testing {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ExchangeSizesTest, SizesRiseToTheMostInWholeRowsFromEachPeer) {
  EXPECT_THAT(ExchangeSizes(1, 1 << 20), IsEmpty());
  EXPECT_THAT(ExchangeSizes(2, 1), ElementsAre(64));
  EXPECT_THAT(ExchangeSizes(2, 65536), ElementsAre(4096, 16384, 65536));
  EXPECT_THAT(ExchangeSizes(2, 20000), ElementsAre(4096, 16384, 20032));
  EXPECT_THAT(ExchangeSizes(4, 20000), ElementsAre(4224, 16512, 20160));
  for (const uint32_t ranks : {2U, 3U, 7U, 1024U}) {
    uint64_t before = 0;
    for (const uint64_t size : ExchangeSizes(ranks, 1 << 24)) {
      EXPECT_GT(size, before);
      EXPECT_EQ(size % (64 * (ranks - 1)), 0U);
      before = size;
    }
    EXPECT_GE(before, uint64_t{1} << 24);
  }
}

TEST(ExchangeSizesTest, TheSlowestRankCounts) {
  for (const uint32_t ranks : {2U, 3U}) {
    OnRanks(ranks, [ranks](Communicator& communicator, FakeClock& clock) {
      // A byte takes as many nanoseconds as the rank's number, and one.
      TimedGroup timed(communicator, clock, communicator.rank() + 1);
      const std::vector<uint64_t> sizes = ExchangeSizes(ranks, 20000);
      std::vector<MeasuredExchange> shown;
      const auto measured = MeasureExchanges(
          sizes, {1, 3}, clock, timed,
          [&shown](const MeasuredExchange& exchange) { shown.push_back(exchange); });
      ASSERT_THAT(measured, IsOk());
      EXPECT_EQ(*measured, shown);
      ASSERT_EQ(measured->size(), sizes.size());
      for (size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ((*measured)[i].bytes, sizes[i]);
        EXPECT_EQ((*measured)[i].latency_ns, ranks * static_cast<int64_t>(sizes[i]));
      }
    });
  }
}

}  // namespace
}  // namespace evenpack::worker::testing
