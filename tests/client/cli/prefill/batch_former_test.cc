#include "client/cli/prefill/batch_former.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "server/core/cost/cost_spec.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;

constexpr Discipline kAll[] = {Discipline::kFirstCome, Discipline::kFewestTokens,
                               Discipline::kLongestFirst, Discipline::kBalanced};

WorkloadTable Workload(const BatchLimits& limits) {
  return ResolveWorkload(QuadraticCost{.crossover_tokens = 100}, limits.max_length,
                         limits.replicas)
      .value();
}

struct Formed {
  Batch batch;
  std::vector<uint32_t> left;
};

Formed Form(Discipline discipline, const BatchLimits& limits,
            const std::vector<uint32_t>& lengths, size_t overdue = 0) {
  const WorkloadTable workload = Workload(limits);
  WaitingRequests waiting(lengths);
  for (uint32_t i = 0; i < lengths.size(); ++i) waiting.Add(i);
  BatchFormer former(discipline, limits, workload);
  Formed formed;
  formed.batch = former.Form(waiting, overdue);
  formed.left.assign(waiting.by_arrival().begin(), waiting.by_arrival().end());
  return formed;
}

TEST(BatchFormer, LetsReplicasTakeTurnsInOrderOfArrival) {
  const Formed formed = Form(Discipline::kFirstCome, {2, 10, 10}, {9, 3, 2, 6, 1});
  // The third passes over the first replica, which has no room, and the fourth fits
  // nowhere, so that the fifth waits with it.
  EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_THAT(formed.left, ElementsAre(3, 4));
}

TEST(BatchFormer, GoesOnWithTheNextReplica) {
  const BatchLimits limits = {3, 10, 10};
  const WorkloadTable workload = Workload(limits);
  const std::vector<uint32_t> lengths = {1, 1, 1, 1, 1};
  WaitingRequests waiting(lengths);
  BatchFormer former(Discipline::kFirstCome, limits, workload);
  waiting.Add(0);
  waiting.Add(1);
  EXPECT_THAT(former.Form(waiting, 0),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre()));
  for (uint32_t request = 2; request < 5; ++request) waiting.Add(request);
  EXPECT_THAT(former.Form(waiting, 0),
              ElementsAre(ElementsAre(3), ElementsAre(4), ElementsAre(2)));
}

TEST(BatchFormer, GivesEachInOrderOfArrivalToTheReplicaOfFewestTokens) {
  const Formed formed =
      Form(Discipline::kFewestTokens, {2, 10, 10}, {6, 1, 3, 2, 9, 1});
  EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_THAT(formed.left, ElementsAre(4, 5));
}

TEST(BatchFormer, TakesTheLongestThatFitFirst) {
  const Formed formed = Form(Discipline::kLongestFirst, {2, 10, 10}, {4, 1, 9, 2, 7});
  // 9 and 7; 4 fits nowhere, 2 and 1 do.
  EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(2, 1), ElementsAre(4, 3)));
  EXPECT_THAT(formed.left, ElementsAre(0));
}

// 100 tokens take as long as five times 30: these share a replica.
TEST(BatchFormer, BalancesPredictedTimeRatherThanTokens) {
  const Formed formed =
      Form(Discipline::kBalanced, {3, 200, 200}, {30, 30, 100, 30, 100, 30, 30});
  EXPECT_THAT(formed.batch,
              ElementsAre(ElementsAre(2), ElementsAre(4), ElementsAre(0, 1, 3, 5, 6)));
  EXPECT_THAT(formed.left, ElementsAre());
}

TEST(BatchFormer, BalancesTheOldestThatMakeABatch) {
  const Formed formed =
      Form(Discipline::kBalanced, {2, 10, 10}, {5, 3, 5, 3, 2, 2, 10});
  EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0, 1, 4), ElementsAre(2, 3, 5)));
  EXPECT_THAT(formed.left, ElementsAre(6));
}

TEST(BatchFormer, LetsALongRequestWaitForItsLikeAndNoLongerThanItIsWorth) {
  const BatchLimits limits = {2, 200, 200};
  const WorkloadTable workload = Workload(limits);
  std::vector<uint32_t> lengths(100, 20);
  lengths[0] = 100;
  std::vector<uint32_t> with_its_like = lengths;
  with_its_like[6] = 100;
  const auto batches_until_it_goes = [&](const std::vector<uint32_t>& all) {
    WaitingRequests waiting(all);
    BatchFormer former(Discipline::kBalanced, limits, workload);
    waiting.Add(0);
    uint32_t batches = 0;
    for (uint32_t next = 1; waiting.by_arrival().contains(0) && next < 96; ++batches) {
      for (uint32_t i = 0; i < 5; ++i) waiting.Add(next++);
      former.Form(waiting, 0);
    }
    return batches;
  };
  EXPECT_EQ(batches_until_it_goes(with_its_like), 2);
  const uint32_t alone = batches_until_it_goes(lengths);
  EXPECT_GT(alone, 2);
  EXPECT_LT(alone, 12);
}

TEST(BatchFormer, LetsHalfOfTheTokensGoWhateverTheirBalance) {
  const Formed formed = Form(Discipline::kBalanced, {2, 200, 200}, {100, 20, 20});
  EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(BatchFormer, LetsOverdueRequestsGoFirst) {
  // Of 2 and two of 9 one waits, in each replica of 10 tokens.
  const std::vector<uint32_t> lengths = {2, 9, 9};
  for (const Discipline discipline :
       {Discipline::kLongestFirst, Discipline::kBalanced}) {
    EXPECT_THAT(Form(discipline, {2, 10, 10}, lengths, 0).left, ElementsAre(0));
    const Formed formed = Form(discipline, {2, 10, 10}, lengths, 1);
    EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0), ElementsAre(1)));
    EXPECT_THAT(formed.left, ElementsAre(2));
  }
}

TEST(BatchFormer, TakesOneRequestHoweverLong) {
  for (const Discipline discipline : kAll) {
    const Formed formed = Form(discipline, {1, 10, 50}, {40, 1});
    EXPECT_THAT(formed.batch, ElementsAre(ElementsAre(0)));
  }
}

// All that arrives leaves once, within the limits, whatever the lengths.
TEST(BatchFormer, KeepsToTheLimits) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    const Discipline discipline = kAll[round % 4];
    BatchLimits limits;
    limits.replicas = 1 + static_cast<uint32_t>(random() % 5);
    limits.window = 10 + static_cast<uint32_t>(random() % 30);
    limits.max_length = limits.window + static_cast<uint32_t>(random() % 20);
    std::vector<uint32_t> lengths(random() % 40 + 1);
    for (uint32_t& length : lengths) {
      length = 1 + static_cast<uint32_t>(random() % limits.max_length);
    }
    const WorkloadTable workload = Workload(limits);
    BatchFormer former(discipline, limits, workload);
    WaitingRequests waiting(lengths);
    for (uint32_t i = 0; i < lengths.size(); ++i) waiting.Add(i);
    std::vector<int> seen(lengths.size(), 0);
    while (!waiting.empty()) {
      const size_t before = waiting.size();
      const Batch batch = former.Form(waiting, random() % (before + 1));
      ASSERT_EQ(batch.size(), limits.replicas);
      uint64_t all = 0;
      size_t requests = 0;
      for (const std::vector<uint32_t>& replica : batch) {
        uint64_t tokens = 0;
        for (const uint32_t request : replica) {
          tokens += lengths[request];
          ++seen[request];
        }
        ASSERT_LE(tokens, limits.max_length);
        all += tokens;
        requests += replica.size();
      }
      ASSERT_GT(requests, 0);
      ASSERT_EQ(waiting.size(), before - requests);
      ASSERT_TRUE(requests == 1 || all <= uint64_t{limits.replicas} * limits.window);
    }
    ASSERT_THAT(seen, ::testing::Each(1));
  }
}

}  // namespace
}  // namespace evenpack
