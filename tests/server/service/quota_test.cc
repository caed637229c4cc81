#include "server/service/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::StatusIs;

QuotaLimits LimitsOf(uint64_t each) {
  QuotaLimits limits;
  limits.fill(each);
  return limits;
}

TEST(QuotaTest, HasANameOfItsOwnForEach) {
  std::set<absl::string_view> flags;
  for (const Quota quota : kAllQuotas) {
    const QuotaName name = NameOf(quota);
    flags.insert(name.flag);
    EXPECT_EQ(name.flag.find(name.holder), 4U) << name.flag << ": max-HOLDER-";
    EXPECT_FALSE(name.what.empty()) << name.flag;
  }
  EXPECT_EQ(flags.size(), kQuotas);
}

TEST(QuotaTest, ARefusalSaysWhoseWhichAndHowMany) {
  const absl::Status status = QuotaExceeded(Quota::kJobStepStreams, 7, "train");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "max-job-step-streams: job train has 7 open StreamSteps "
                               "calls; accepted: at most so many"));
  EXPECT_EQ(
      DetailOf(status),
      (StatusDetail{
          "QUOTA_EXCEEDED",
          {{"quota", "max-job-step-streams"}, {"limit", "7"}, {"job", "train"}}}));
}

TEST(QuotaTest, EachHolderHasAsManyOfAKindAsItMay) {
  Quotas quotas(LimitsOf(2));
  QuotaPlace first;
  QuotaPlace second;
  QuotaPlace third;
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "a", first), IsOk());
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "a", second), IsOk());
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "a", third),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_EQ(quotas.refusals()[static_cast<size_t>(Quota::kPeerCalls)], 1U);

  QuotaPlace other_peer;
  QuotaPlace other_kind;
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "b", other_peer), IsOk());
  EXPECT_THAT(quotas.Take(Quota::kPeerStepStreams, "a", other_kind), IsOk());

  first.GiveBack();
  first.GiveBack();
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "a", third), IsOk());
  EXPECT_THAT(quotas.Take(Quota::kPeerCalls, "a", first),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
}

TEST(QuotaTest, APlaceThatIsTakenAnewGivesBackWhatItHad) {
  Quotas quotas(LimitsOf(1));
  QuotaPlace place;
  ASSERT_THAT(quotas.Take(Quota::kPeerCalls, "a", place), IsOk());
  ASSERT_THAT(quotas.Take(Quota::kPeerCalls, "a", place), IsOk());
  ASSERT_THAT(quotas.Take(Quota::kPeerCalls, "b", place), IsOk());
  EXPECT_EQ(quotas.size(), 1U);
}

TEST(QuotaTest, ZeroIsNoBoundAndRemembersNobody) {
  Quotas quotas(LimitsOf(0));
  std::vector<QuotaPlace> places(10'000);
  for (QuotaPlace& place : places) {
    ASSERT_THAT(quotas.Take(Quota::kPeerCalls, "a", place), IsOk());
  }
  EXPECT_EQ(quotas.size(), 0U);
}

// Against a plain count of what each holder has.
TEST(QuotaTest, IsNeverAboveItsLimitAndGivesAllBackInRandomOrders) {
  std::mt19937 random(7);
  for (const uint64_t limit : {1U, 3U, 10U}) {
    Quotas quotas(LimitsOf(limit));
    std::map<std::pair<Quota, std::string>, uint64_t> expected;
    uint64_t refused = 0;
    struct Held {
      std::pair<Quota, std::string> key;
      std::unique_ptr<QuotaPlace> place;
    };
    std::vector<Held> held;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 2 == 0 && !held.empty()) {
        const size_t at = random() % held.size();
        if (--expected[held[at].key] == 0) expected.erase(held[at].key);
        std::swap(held[at], held.back());
        held.pop_back();
      } else {
        const std::pair<Quota, std::string> key = {
            kAllQuotas[random() % 3], std::string(1, "abcd"[random() % 4])};
        auto place = std::make_unique<QuotaPlace>();
        const bool taken = quotas.Take(key.first, key.second, *place).ok();
        const auto has = expected.find(key);
        ASSERT_EQ(taken, has == expected.end() || has->second < limit);
        if (taken) ++expected[key];
        if (taken) held.push_back({key, std::move(place)});
        if (!taken) ++refused;
      }
      ASSERT_EQ(quotas.size(), expected.size());
    }
    held.clear();
    EXPECT_EQ(quotas.size(), 0U);
    uint64_t counted = 0;
    for (const uint64_t refusals : quotas.refusals()) counted += refusals;
    EXPECT_EQ(counted, refused);
    EXPECT_GT(refused, 100U);
  }
}

TEST(QuotaTest, IsNeverAboveItsLimitAmongThreads) {
  constexpr int kThreads = 4;
  constexpr uint64_t kLimit = 2;
  Quotas quotas(LimitsOf(kLimit));
  std::atomic<uint64_t> holding = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<bool> above = false;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5'000; ++turn) {
        QuotaPlace place;
        if (!quotas.Take(Quota::kPeerCalls, "a", place).ok()) {
          ++refused;
          continue;
        }
        if (++holding > kLimit) above = true;
        --holding;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(above);
  EXPECT_EQ(quotas.size(), 0U);
  EXPECT_EQ(quotas.refusals()[static_cast<size_t>(Quota::kPeerCalls)], refused);
}

}  // namespace
}  // namespace evenpack
