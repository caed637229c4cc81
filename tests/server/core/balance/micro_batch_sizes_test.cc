#include "server/core/balance/micro_batch_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MicroBatch Made(uint64_t tokens, uint64_t padding, int64_t workload_ns) {
  MicroBatch micro_batch;
  micro_batch.tokens = tokens;
  micro_batch.padding = padding;
  micro_batch.workload_ns = workload_ns;
  return micro_batch;
}

TEST(MicroBatchSizesTest, ColumnsHaveAnEntryForEachMicroBatch) {
  const std::vector<MicroBatch> made = {Made(10, 0, 7), Made(0, 0, 0), Made(4, 2, 9)};
  const MicroBatchSizes sizes = SizesOf(made);
  EXPECT_THAT(sizes.workload_ns, ElementsAre(7, 0, 9));
  EXPECT_THAT(sizes.tokens, ElementsAre(10, 0, 4));
  EXPECT_THAT(sizes.padding, ElementsAre(0, 0, 2));
}

TEST(MicroBatchSizesTest, PaddingIsLeftOutWhereThereIsNone) {
  const std::vector<MicroBatch> made = {Made(10, 0, 7), Made(3, 0, 2)};
  EXPECT_THAT(SizesOf(made).padding, IsEmpty());
  EXPECT_EQ(SizesOf({}), MicroBatchSizes());
}

}  // namespace
}  // namespace evenpack
