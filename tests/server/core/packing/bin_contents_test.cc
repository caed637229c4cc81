#include "server/core/packing/bin_contents.h"

#include <gtest/gtest.h>

#include "server/core/packing/assignment.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(BinContentsTest, AreTheDocumentsOfEachBinAndTheirWork) {
  const std::vector<Document> documents = testing::MakeDocuments({30, 7, 5, 20});
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  PaddingRule padding;
  padding.document_unit = 8;
  const auto contents =
      ContentsOf(PointTo(documents), std::vector<uint32_t>{2, 0, kLeftOver, 2}, 3,
                 padding, workload);
  ASSERT_EQ(contents.size(), 3U);
  EXPECT_EQ(contents[0].documents, std::vector<uint32_t>{1});
  EXPECT_EQ(contents[0].length, 8);
  EXPECT_EQ(contents[0].load_ns, workload.AttentionNs(7) + workload.LinearNs(8));
  EXPECT_TRUE(contents[1].documents.empty());
  EXPECT_EQ(contents[1].load_ns, workload.LinearNs(0));
  EXPECT_EQ(contents[2].documents, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(contents[2].length, 32 + 24);
  EXPECT_EQ(contents[2].attention_ns,
            workload.AttentionNs(30) + workload.AttentionNs(20));
  EXPECT_EQ(contents[2].load_ns, contents[2].attention_ns + workload.LinearNs(56));
}

}  // namespace
}  // namespace evenpack
