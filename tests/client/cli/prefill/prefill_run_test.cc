#include "client/cli/prefill/prefill_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "server/core/cost/cost_spec.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::GivenLengths;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kSecond = 1'000'000'000;

// A second a token; attention of a document of d tokens takes d^2 / 1,000,000 more.
WorkloadTable ATokenASecond(const BatchLimits& limits) {
  return ResolveWorkload(
             QuadraticCost{.crossover_tokens = 1'000'000, .ns_per_token = kSecond},
             limits.max_length, limits.replicas)
      .value();
}

PrefillFigures Simulated(const std::vector<int64_t>& seconds,
                         const std::vector<uint32_t>& lengths, Discipline discipline,
                         const BatchLimits& limits,
                         std::optional<uint64_t> max_delay = {}) {
  std::vector<int64_t> arrivals;
  for (const int64_t second : seconds) {
    arrivals.push_back(second * static_cast<int64_t>(kSecond));
  }
  auto figures = RunPrefill({arrivals, lengths}, discipline, limits, max_delay,
                            ATokenASecond(limits));
  EXPECT_THAT(figures, IsOk());
  return *std::move(figures);
}

// Two replicas of 10 tokens. At 100 the first comes alone and takes 4 s; meanwhile 8
// and 2 tokens come, which take 8 s from 104 on; the last comes when all is idle.
TEST(PrefillRun, BeginsABatchWhenAllReplicasAreFreeAndSomeoneWaits) {
  const PrefillFigures figures = Simulated({100, 101, 104, 120}, {4, 8, 2, 6},
                                           Discipline::kFirstCome, {2, 10, 10});
  EXPECT_EQ(figures.requests, 4);
  EXPECT_EQ(figures.tokens, 20);
  EXPECT_EQ(figures.batches, 3);
  // 4, 11, 8 and 6 seconds.
  EXPECT_NEAR(figures.ttft_mean, 7.25, 1e-3);
  EXPECT_NEAR(figures.ttft_p50, 6, 1e-3);
  EXPECT_NEAR(figures.ttft_p99, 11, 1e-3);
  EXPECT_NEAR(figures.ttft_max, 11, 1e-3);
  EXPECT_NEAR(figures.seconds, 26, 1e-3);
  EXPECT_NEAR(figures.tokens_per_second, 20.0 / 26, 1e-4);
  // Of 2 * 18 s, 20 are work.
  EXPECT_NEAR(figures.idle_share, 1 - 20.0 / 36, 1e-4);
  EXPECT_EQ(figures.delay_max, 0);
}

TEST(PrefillRun, CountsTheBatchesThatARequestLetsPass) {
  // One replica, a request a batch. The short one waits for three long ones that come
  // with it and two that come later.
  const std::vector<int64_t> arrivals = {0, 0, 0, 0, 5, 6};
  const std::vector<uint32_t> lengths = {2, 9, 9, 9, 9, 9};
  const BatchLimits limits = {1, 10, 10};
  const PrefillFigures longest =
      Simulated(arrivals, lengths, Discipline::kLongestFirst, limits);
  EXPECT_EQ(longest.delay_max, 5);
  EXPECT_EQ(longest.over_bound, 0);
  EXPECT_NEAR(longest.ttft_max, 47, 1e-2);
  const PrefillFigures bounded =
      Simulated(arrivals, lengths, Discipline::kLongestFirst, limits, 3);
  EXPECT_EQ(bounded.delay_max, 4);
  EXPECT_EQ(bounded.over_bound, 1);
  EXPECT_EQ(Simulated(arrivals, lengths, Discipline::kFirstCome, limits).delay_max, 3);
}

TEST(PrefillRun, HoldsTheBoundWhereTheOverdueFitIntoABatch) {
  std::mt19937_64 random(11);
  std::vector<int64_t> arrivals;
  std::vector<uint32_t> lengths;
  for (int64_t second = 0; second < 4000; second += 8) {
    arrivals.push_back(second);
    lengths.push_back(1 + static_cast<uint32_t>(random() % 10));
  }
  for (const uint64_t bound : {1U, 2U, 5U}) {
    const PrefillFigures figures =
        Simulated(arrivals, lengths, Discipline::kLongestFirst, {1, 16, 16}, bound);
    EXPECT_LE(figures.delay_max, bound);
    EXPECT_EQ(figures.over_bound, 0);
  }
}

// Each discipline does the same work; a better one does it in less time.
TEST(PrefillRun, BalancedServesAHeavyLoadSoonerThanOrderOfArrival) {
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < 20'000; ++i) lengths.push_back(GivenLengths()[i] / 8 + 1);
  std::vector<int64_t> arrivals(lengths.size());
  for (size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i] = static_cast<int64_t>(i * kSecond / 550);
  }
  const BatchLimits limits = {8, 16'385, 16'385};
  const WorkloadTable workload =
      ResolveWorkload(QuadraticCost{.crossover_tokens = 47'000, .ns_per_token = 26'000},
                      limits.max_length, limits.replicas)
          .value();
  const PrefillRequests requests = {arrivals, lengths};
  PrefillFigures figures[4];
  const uint64_t tokens = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  for (size_t i = 0; i < 4; ++i) {
    auto run = RunPrefill(requests, static_cast<Discipline>(i), limits, std::nullopt,
                          workload);
    ASSERT_THAT(run, IsOk());
    figures[i] = *run;
    EXPECT_EQ(run->requests, lengths.size());
    EXPECT_EQ(run->tokens, tokens);
  }
  const PrefillFigures& balanced = figures[3];
  for (const PrefillFigures& other : figures) {
    EXPECT_LE(balanced.ttft_mean, other.ttft_mean);
    EXPECT_LE(balanced.ttft_max, other.ttft_max);
  }
  EXPECT_LT(balanced.ttft_mean, figures[0].ttft_mean * 0.7);
  EXPECT_LT(balanced.idle_share, figures[0].idle_share - 0.02);
}

TEST(PrefillRun, RefusesWorkThatTakesTooLong) {
  const BatchLimits limits = {1, 1, 1};
  const WorkloadTable workload =
      ResolveWorkload(QuadraticCost{.crossover_tokens = 1, .ns_per_token = 1ULL << 60},
                      1, 1)
          .value();
  const std::vector<int64_t> arrivals(4, 0);
  const std::vector<uint32_t> lengths(4, 1);
  EXPECT_THAT(RunPrefill({arrivals, lengths}, Discipline::kBalanced, limits,
                         std::nullopt, workload),
              StatusIs(kInvalid, HasSubstr("2^62 ns")));
}

TEST(OfferedLoad, IsWorkOverTheReplicasTime) {
  const BatchLimits limits = {2, 10, 10};
  const WorkloadTable workload = ATokenASecond(limits);
  const std::vector<uint32_t> lengths = {4, 8, 8};
  const std::vector<int64_t> apart = {0, 5'000'000'000, 10'000'000'000};
  const std::optional<double> load = OfferedLoad({apart, lengths}, 2, workload);
  ASSERT_TRUE(load.has_value());
  EXPECT_NEAR(*load, 1, 1e-4);
  const std::vector<int64_t> at_once(3, 7);
  EXPECT_EQ(OfferedLoad({at_once, lengths}, 2, workload), std::nullopt);
}

}  // namespace
}  // namespace evenpack
