#include "client/cli/simulation/plan_size.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;

Step MakeStep(uint32_t micro_batches, uint32_t documents) {
  Step step;
  for (uint32_t i = 0; i < micro_batches; ++i) {
    MicroBatch micro_batch;
    for (uint32_t j = 0; j < documents; ++j) {
      Document document;
      document.sequence = uint64_t{i} * documents + j;
      document.length = 1000;
      document.document_length = 1000;
      micro_batch.documents.push_back(document);
      micro_batch.tokens += document.length;
    }
    step.micro_batches.push_back(std::move(micro_batch));
  }
  return step;
}

JobSpec MakeSpec(uint32_t micro_batches, uint32_t data_parallel) {
  JobSpec spec;
  spec.streams = {{"lengths"}};
  spec.micro_batches = micro_batches;
  spec.data_parallel = data_parallel;
  spec.context_parallel = 2;
  return spec;
}

TEST(PlanSizeTest, GrowsWithTheRanksOwnDocuments) {
  const auto few = PlanBytes(MakeStep(4, 10), MakeSpec(4, 1));
  const auto many = PlanBytes(MakeStep(4, 110), MakeSpec(4, 1));
  ASSERT_THAT(few, IsOk());
  ASSERT_THAT(many, IsOk());
  // Columns: some bytes for each of 400 more documents, and for its slices.
  EXPECT_GT(*many, *few + 400 * 4);
  EXPECT_LT(*many, *few + 400 * 64);
}

TEST(PlanSizeTest, HasOnlyDigestsOfOtherRanksMicroBatches) {
  const auto alone = PlanBytes(MakeStep(4, 50), MakeSpec(4, 1));
  const auto among = PlanBytes(MakeStep(64, 50), MakeSpec(64, 16));
  ASSERT_THAT(alone, IsOk());
  ASSERT_THAT(among, IsOk());
  EXPECT_GE(*among, *alone + 60 * 16);
  EXPECT_LT(*among, *alone + 60 * 40);
}

}  // namespace
}  // namespace evenpack
