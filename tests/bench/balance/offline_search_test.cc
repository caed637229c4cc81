#include "tests/bench/balance/offline_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "server/core/cost/cost_spec.h"

namespace evenpack {
namespace {

constexpr uint32_t kMaxLength = 1800;

WorkloadTable Workload() {
  return ResolveWorkload(QuadraticCost{.crossover_tokens = 300}, kMaxLength, 8).value();
}

// Spread over the steps in order, each document free to go one step further.
std::vector<PlacedDocument> Placed(size_t documents, const OfflineTerms& terms,
                                   uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<PlacedDocument> placed(documents);
  for (size_t i = 0; i < documents; ++i) {
    const size_t step = i * terms.steps / documents;
    placed[i].length = static_cast<uint32_t>(1 + generator() % 200);
    placed[i].first_step = static_cast<uint32_t>(step);
    placed[i].last_step = static_cast<uint32_t>(std::min(step + 1, terms.steps - 1));
    placed[i].micro_batch =
        static_cast<uint32_t>(step * terms.micro_batches + i % terms.micro_batches);
  }
  return placed;
}

// Over all placements within the documents' steps.
int64_t LeastSum(std::vector<PlacedDocument>& documents, size_t next,
                 const OfflineTerms& terms, const WorkloadTable& workload) {
  if (next == documents.size()) {
    const OfflineSearch search(documents, terms, workload, 0);
    return search.SumOfHeaviest();
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  PlacedDocument& document = documents[next];
  const auto n = static_cast<uint32_t>(terms.micro_batches);
  for (uint32_t bin = document.first_step * n; bin < (document.last_step + 1) * n;
       ++bin) {
    document.micro_batch = bin;
    least = std::min(least, LeastSum(documents, next + 1, terms, workload));
  }
  return least;
}

TEST(OfflineSearchTest, ComesWithinAPercentOfTheLeastOfSmallCases) {
  const WorkloadTable workload = Workload();
  const OfflineTerms terms = {.micro_batches = 2, .max_length = kMaxLength, .steps = 2};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    std::vector<PlacedDocument> documents = Placed(7, terms, seed);
    OfflineSearch search(documents, terms, workload, seed);
    search.Run(40000);
    EXPECT_TRUE(search.IsWithinBounds());
    const int64_t least = LeastSum(documents, 0, terms, workload);
    EXPECT_GE(search.SumOfHeaviest(), least) << seed;
    EXPECT_LE(search.SumOfHeaviest(), least + least / 100) << seed;
  }
}

TEST(OfflineSearchTest, KeepsDelaysAndCapacity) {
  const WorkloadTable workload = Workload();
  // 8 micro-batches of 12 documents each, which are nearly full.
  const OfflineTerms terms = {.micro_batches = 4, .max_length = kMaxLength, .steps = 8};
  OfflineSearch search(Placed(384, terms, 3), terms, workload, 3);
  ASSERT_TRUE(search.IsWithinBounds());
  const int64_t before = search.SumOfHeaviest();
  search.Run(200000);
  EXPECT_TRUE(search.IsWithinBounds());
  EXPECT_LT(search.SumOfHeaviest(), before);
}

TEST(OfflineSearchTest, SeesBrokenBounds) {
  const WorkloadTable workload = Workload();
  const OfflineTerms terms = {.micro_batches = 1, .max_length = 100, .steps = 2};
  const PlacedDocument late = {
      .length = 10, .first_step = 0, .last_step = 0, .micro_batch = 1};
  const PlacedDocument wide = {
      .length = 101, .first_step = 0, .last_step = 1, .micro_batch = 0};
  EXPECT_FALSE(OfflineSearch({late}, terms, workload, 1).IsWithinBounds());
  EXPECT_FALSE(OfflineSearch({wide}, terms, workload, 1).IsWithinBounds());
}

TEST(OfflineSearchTest, TheSameSeedGivesTheSamePlacement) {
  const WorkloadTable workload = Workload();
  const OfflineTerms terms = {.micro_batches = 2, .max_length = kMaxLength, .steps = 4};
  OfflineSearch one(Placed(40, terms, 5), terms, workload, 9);
  OfflineSearch two(Placed(40, terms, 5), terms, workload, 9);
  one.Run(20000);
  two.Run(20000);
  EXPECT_EQ(one.SumOfHeaviest(), two.SumOfHeaviest());
}

}  // namespace
}  // namespace evenpack
