#include "server/core/packing/local_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_contents.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr uint64_t kPlenty = 1'000'000;

struct Measured {
  int64_t heaviest = 0;
  int64_t longest = 0;
  size_t most_documents = 0;
};

Measured Measure(const WorkList& work_list, const std::vector<uint32_t>& bins,
                 size_t count, const Capacity& capacity,
                 const WorkloadTable& workload) {
  Measured measured;
  for (const BinContents& bin :
       ContentsOf(work_list, bins, count, capacity.padding, workload)) {
    measured.heaviest = std::max(measured.heaviest, bin.load_ns);
    measured.longest = std::max(measured.longest, bin.length);
    measured.most_documents = std::max(measured.most_documents, bin.documents.size());
  }
  return measured;
}

// The least heaviest micro-batch over all ways to pack two of them.
int64_t LeastOfTwo(const WorkList& work_list, const Capacity& capacity,
                   const WorkloadTable& workload) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t way = 0; way < 1U << work_list.size(); ++way) {
    std::vector<uint32_t> bins;
    for (size_t i = 0; i < work_list.size(); ++i) bins.push_back(way >> i & 1);
    const Measured measured = Measure(work_list, bins, 2, capacity, workload);
    if (measured.longest <= int64_t{capacity.tokens}) {
      least = std::min(least, measured.heaviest);
    }
  }
  return least;
}

TEST(LocalSearchTest, MovesAndSwapsUntilTheHeaviestIsNearTheMean) {
  const WorkloadTable workload = testing::QuadraticWorkload(1'000'000'000, 1000);
  const std::vector<Document> documents = testing::MakeDocuments({40, 30, 20, 10});
  // All in one; a move of 40 and one of 10 level them.
  std::vector<uint32_t> bins = {0, 0, 0, 0};
  ImproveByLocalSearch(PointTo(documents), 2, {.tokens = 1000}, workload, kPlenty,
                       bins);
  EXPECT_EQ(Measure(PointTo(documents), bins, 2, {.tokens = 1000}, workload).longest,
            50);
  // No document fits beside what is there: swaps alone help.
  bins = {0, 0, 1, 1};
  ImproveByLocalSearch(PointTo(documents), 2, {.tokens = 70}, workload, kPlenty, bins);
  EXPECT_EQ(Measure(PointTo(documents), bins, 2, {.tokens = 70}, workload).longest, 50);
}

TEST(LocalSearchTest, EndsAfterItsOperations) {
  const WorkloadTable workload = testing::QuadraticWorkload(47'000, 131072);
  const std::vector<Document> documents = testing::LongestFirst(
      testing::MakeDocuments(testing::SkewedLengths(1, 60, 9000)));
  const WorkList work_list = PointTo(documents);
  for (const uint64_t most : {0U, 1U, 7U, 50U}) {
    std::vector<uint32_t> bins(documents.size(), 0);
    const uint64_t operations =
        ImproveByLocalSearch(work_list, 4, {.tokens = 131072}, workload, most, bins);
    EXPECT_LE(operations, most + 1);
  }
  std::vector<uint32_t> one(documents.size(), 0);
  EXPECT_EQ(ImproveByLocalSearch(work_list, 1, {.tokens = 131072}, workload, 9, one),
            0U);
}

TEST(LocalSearchTest, KeepsCapacityAndNeverMakesTheHeaviestHeavier) {
  const WorkloadTable workload = testing::QuadraticWorkload(4'700, 20'000);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Document> documents =
        testing::LongestFirst(testing::MakeDocuments(
            testing::SkewedLengths(seed, testing::Draw(random, 1, 60), 6000)));
    const WorkList work_list = PointTo(documents);
    const size_t count = testing::Draw(random, 1, 7);
    for (const Capacity& capacity : testing::Capacities(20'000)) {
      std::vector<uint32_t> bins;
      for (size_t i = 0; i < documents.size(); ++i) {
        const uint32_t bin = testing::Draw(random, 0, static_cast<uint32_t>(count));
        bins.push_back(bin == count ? kLeftOver : bin);
      }
      const Measured before = Measure(work_list, bins, count, capacity, workload);
      if (before.longest > int64_t{capacity.tokens} ||
          before.most_documents > capacity.documents) {
        continue;
      }
      std::vector<uint32_t> after = bins;
      ImproveByLocalSearch(work_list, count, capacity, workload, kPlenty, after);
      const Measured measured = Measure(work_list, after, count, capacity, workload);
      EXPECT_LE(measured.heaviest, before.heaviest) << seed;
      EXPECT_LE(measured.longest, int64_t{capacity.tokens}) << seed;
      EXPECT_LE(measured.most_documents, capacity.documents) << seed;
      for (size_t i = 0; i < bins.size(); ++i) {
        EXPECT_EQ(bins[i] == kLeftOver, after[i] == kLeftOver);
      }
    }
  }
}

TEST(LocalSearchTest, ComesNearTheBestOfTwoMicroBatches) {
  const WorkloadTable workload = testing::QuadraticWorkload(4'700, 40'000);
  double sum = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<Document> documents = testing::LongestFirst(
        testing::MakeDocuments(testing::SkewedLengths(seed, 12, 6000)));
    const WorkList work_list = PointTo(documents);
    const Capacity capacity = {.tokens = 40'000};
    std::vector<uint32_t> bins;
    for (size_t i = 0; i < documents.size(); ++i) bins.push_back(i % 2);
    ImproveByLocalSearch(work_list, 2, capacity, workload, kPlenty, bins);
    const double ratio =
        static_cast<double>(Measure(work_list, bins, 2, capacity, workload).heaviest) /
        static_cast<double>(LeastOfTwo(work_list, capacity, workload));
    EXPECT_LE(ratio, 1.1) << seed;
    sum += ratio;
  }
  EXPECT_LE(sum / 60, 1.01);
}

}  // namespace
}  // namespace evenpack
