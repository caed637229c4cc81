#include "server/core/packing/assign_to_lightest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/packing/assignment.h"
#include "server/core/packing/wlb.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;

// Each document in the lightest bin that has room for it, by a search over all of them.
Bins Searched(const WorkList& documents, size_t count, uint32_t most,
              const WorkloadTable& workload) {
  Bins bins(count);
  std::vector<int64_t> attention(count, 0);
  std::vector<uint32_t> lengths(count, 0);
  const auto load = [&](size_t bin) {
    return attention[bin] + workload.LinearNs(lengths[bin]);
  };
  for (const Document* document : documents) {
    size_t best = count;
    for (size_t bin = 0; bin < count; ++bin) {
      if (lengths[bin] + document->length > most) continue;
      if (best == count || load(bin) < load(best)) best = bin;
    }
    if (best == count) continue;
    bins[best].push_back(document->length);
    lengths[best] += document->length;
    attention[best] += workload.AttentionNs(document->length);
  }
  return bins;
}

TEST(AssignToLightestTest, TakesTheLightestThatHasRoom) {
  const WorkloadTable workload = testing::QuadraticWorkload(3'600, 100'000);
  bool unlike_wlb = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Document> documents = testing::LongestFirst(
        testing::MakeDocuments(testing::SkewedLengths(seed, 150, 9000)));
    const WorkList work_list = PointTo(documents);
    uint32_t tokens = 0;
    for (const Document& document : documents) tokens += document.length;
    // A tenth of room beyond what there is, if that holds the longest one.
    const Capacity capacity = {
        .tokens = std::max(tokens / 12 * 11 / 10, documents[0].length)};
    const Bins bins = testing::LengthsOf(
        Collect(work_list, AssignToLightest(work_list, 12, capacity, workload), 12,
                capacity.padding, workload));
    EXPECT_EQ(bins, Searched(work_list, 12, capacity.tokens, workload));
    unlike_wlb = unlike_wlb ||
                 bins != testing::LengthsOf(PackWlb(work_list, 12, capacity, workload));
  }
  EXPECT_TRUE(unlike_wlb);
}

TEST(AssignToLightestTest, WhatIsTooLongForAnyGetsAnEmptyOneOrNone) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> documents = testing::MakeDocuments({30, 5, 30, 40});
  EXPECT_EQ(AssignToLightest(PointTo(documents), 3, {.tokens = 10}, workload),
            (std::vector<uint32_t>{0, 1, 2, kLeftOver}));
}

TEST(AssignToLightestTest, AFullNumberOfDocumentsTakesNoMore) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> documents = testing::MakeDocuments({5, 1, 1, 1, 1});
  EXPECT_EQ(
      AssignToLightest(PointTo(documents), 2, {.tokens = 50, .documents = 2}, workload),
      (std::vector<uint32_t>{0, 1, 1, 0, kLeftOver}));
}

}  // namespace
}  // namespace evenpack
