#include "server/core/packing/assignment.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(CollectTest, KeepsTheOrderInEachMicroBatchAndAmongLeftOvers) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 1000);
  const std::vector<Document> documents = testing::MakeDocuments({1, 2, 3, 4, 5, 6});
  const Packing packing =
      Collect(PointTo(documents),
              std::vector<uint32_t>{1, kLeftOver, 0, 1, kLeftOver, 1}, 3, {}, workload);
  EXPECT_EQ(testing::LengthsOf(packing),
            (std::vector<std::vector<uint32_t>>{{3}, {1, 4, 6}, {}}));
  EXPECT_EQ(testing::LengthsOf(packing.left_over), (std::vector<uint32_t>{2, 5}));
  EXPECT_EQ(packing.micro_batches[1].tokens, 11U);
  EXPECT_EQ(packing.micro_batches[2].workload_ns, 0);
}

TEST(CollectTest, WorkloadIsAttentionOfEachDocumentAndLinearOfTheSum) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 1000);
  const Packing packing = Collect(PointTo(testing::MakeDocuments({10, 20})),
                                  std::vector<uint32_t>{0, 0}, 1, {}, workload);
  // (100 + 400) / 10 + 30 tokens of 1,000 ns.
  EXPECT_EQ(packing.micro_batches[0].workload_ns, 80'000);
}

TEST(CollectTest, PaddingCostsWhatTokensDoButForAttention) {
  PaddingRule padding;
  padding.document_unit = 8;
  padding.total_unit = 16;
  const Packing packing =
      Collect(PointTo(testing::MakeDocuments({10, 20})), std::vector<uint32_t>{0, 0}, 2,
              padding, testing::QuadraticWorkload(10, 1000));
  // 16 + 24 tokens with the documents' padding, 48 in all.
  EXPECT_EQ(packing.micro_batches[0].tokens, 30U);
  EXPECT_EQ(packing.micro_batches[0].padding, 18U);
  EXPECT_EQ(packing.micro_batches[0].workload_ns, 98'000);
  EXPECT_EQ(packing.micro_batches[1].padding, 0U);
}

}  // namespace
}  // namespace evenpack
