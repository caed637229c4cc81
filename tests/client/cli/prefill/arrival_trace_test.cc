#include "client/cli/prefill/arrival_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNs = 1e9;

std::vector<int64_t> Draw(const ArrivalSpec& spec, size_t count) {
  auto arrivals = DrawArrivals(spec, count);
  EXPECT_THAT(arrivals, IsOk());
  return *std::move(arrivals);
}

// Variance over mean of the requests of each second: 1 of Poisson arrivals.
double Dispersion(const std::vector<int64_t>& arrivals) {
  std::vector<double> counts(
      static_cast<size_t>(arrivals.back() / static_cast<int64_t>(kNs)));
  for (const int64_t arrival : arrivals) {
    const auto second = static_cast<size_t>(static_cast<double>(arrival) / kNs);
    if (second < counts.size()) ++counts[second];
  }
  double sum = 0;
  double squares = 0;
  for (const double count : counts) {
    sum += count;
    squares += count * count;
  }
  const double mean = sum / static_cast<double>(counts.size());
  return squares / static_cast<double>(counts.size()) / mean - mean;
}

TEST(DrawArrivals, AreTheSameOnEveryMachine) {
  EXPECT_THAT(Draw({ArrivalPattern::kPoisson, 100, 10, 7}, 4),
              ElementsAre(28432303, 29381035, 30295153, 36356159));
  EXPECT_THAT(Draw({ArrivalPattern::kBursty, 100, 0.01, 7}, 4),
              ElementsAre(2846194, 5588548, 23771566, 47578950));
  EXPECT_NE(Draw({ArrivalPattern::kPoisson, 100, 10, 8}, 4),
            Draw({ArrivalPattern::kPoisson, 100, 10, 7}, 4));
  EXPECT_NE(Draw({ArrivalPattern::kPoisson, 100, 10, uint64_t{7} << 32}, 4),
            Draw({ArrivalPattern::kPoisson, 100, 10, 7}, 4));
}

TEST(DrawArrivals, ComeAtTheRateInBothPatterns) {
  constexpr size_t kCount = 200'000;
  for (const ArrivalPattern pattern :
       {ArrivalPattern::kPoisson, ArrivalPattern::kBursty}) {
    const std::vector<int64_t> arrivals = Draw({pattern, 50, 1, 1}, kCount);
    EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
    EXPECT_NEAR(kCount / (static_cast<double>(arrivals.back()) / kNs), 50, 2.5);
  }
}

TEST(DrawArrivals, ComeInBurstsWhereAsked) {
  EXPECT_NEAR(Dispersion(Draw({ArrivalPattern::kPoisson, 50, 10, 1}, 100'000)), 1, 0.2);
  EXPECT_GT(Dispersion(Draw({ArrivalPattern::kBursty, 50, 10, 1}, 100'000)), 20);
}

TEST(DrawArrivals, RefuseARateThatTakesTooLong) {
  for (const ArrivalPattern pattern :
       {ArrivalPattern::kPoisson, ArrivalPattern::kBursty}) {
    EXPECT_THAT(DrawArrivals({pattern, 0.001, 10, 0}, 20'000),
                StatusIs(kInvalid, AllOf(HasSubstr("--rate: 0.001"),
                                         HasSubstr("20000 requests"))));
  }
}

}  // namespace
}  // namespace evenpack
