#include "server/core/cost/leaning_workload.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(LeaningWorkloadTest, AttentionAloneIsDearer) {
  const WorkloadTable table = testing::QuadraticWorkload(47'000, 131'072);
  const LeaningWorkload leaning(table, 64);
  for (const uint32_t length : {1U, 4'096U, 100'000U, 131'072U}) {
    const int64_t attention = table.AttentionNs(length);
    EXPECT_EQ(leaning.AttentionNs(length), attention + attention / 256 * 64);
    EXPECT_EQ(leaning.LinearNs(length), table.LinearNs(length));
  }
  EXPECT_EQ(leaning.max_tokens(), table.max_tokens());
  EXPECT_EQ(&leaning.table(), &table);
}

TEST(LeaningWorkloadTest, ATableDoesNotLean) {
  const WorkloadTable table = testing::QuadraticWorkload(47'000, 131'072);
  const LeaningWorkload same = table;
  EXPECT_EQ(same.AttentionNs(100'000), table.AttentionNs(100'000));
}

}  // namespace
}  // namespace evenpack
