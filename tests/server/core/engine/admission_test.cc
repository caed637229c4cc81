#include "server/core/engine/admission.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::LengthsOf;
using testing::MakeSpec;
using testing::TestJob;

TEST(AdmitTest, TheDocumentThatReachesTheTargetBelongsToIt) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({60, 60, 60, 60, 60}), IsOk());
  const Admission admission = Admit(job.state(), 200);
  EXPECT_EQ(LengthsOf(admission.documents), (std::vector<uint32_t>{60, 60, 60, 60}));
  EXPECT_EQ(admission.tokens, 240U);
  EXPECT_EQ(admission.batches, 1U);
  EXPECT_EQ(admission.taken, std::vector<uint64_t>{4});
  EXPECT_FALSE(admission.exhausted);
}

TEST(AdmitTest, TakesNothingFromTheState) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({60, 60, 60, 60}), IsOk());
  const JobState before = job.state();
  Admit(job.state(), 200);
  EXPECT_EQ(job.state(), before);
}

TEST(AdmitTest, StopsWhereTheMergeWaits) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({60}), IsOk());
  const Admission open = Admit(job.state(), 200);
  EXPECT_EQ(open.tokens, 60U);
  EXPECT_FALSE(open.exhausted);
  ASSERT_THAT(job.End(), IsOk());
  EXPECT_TRUE(Admit(job.state(), 200).exhausted);
}

TEST(AdmitTest, HoldsNoDocumentsWhereTheyAreTooFew) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({60}), IsOk());
  EXPECT_TRUE(Admit(job.state(), 200).documents.empty());
}

TEST(AdmitTest, OrderAndBatchGoOnFromTheState) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({100, 100, 100, 100}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  const Admission admission = Admit(job.state(), 200);
  ASSERT_EQ(admission.documents.size(), 2U);
  EXPECT_EQ(admission.documents[0].batch, 1U);
  EXPECT_EQ(admission.documents[0].order, 2U);
  EXPECT_EQ(admission.documents[1].order, 3U);
}

TEST(AdmitTest, AWindowOfSeveralBatchesNumbersThemByTokens) {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 1, 100);
  spec.policy.window_batches = 3;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({60, 60, 60, 60, 60, 60}), IsOk());
  const Admission admission = Admit(job.state(), 300);
  std::vector<uint64_t> batches;
  for (const Document& document : admission.documents) {
    batches.push_back(document.batch);
  }
  EXPECT_EQ(batches, (std::vector<uint64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(admission.batches, 3U);
  // 120 tokens left over from before fill the first batch and a fifth of the second.
  std::vector<uint64_t> after_left_over;
  for (const Document& document : Admit(job.state(), 180).documents) {
    after_left_over.push_back(document.batch);
  }
  EXPECT_EQ(after_left_over, (std::vector<uint64_t>{1, 1, 2}));
}

TEST(AdmitTest, OverlongDocumentsAreCutAtTheBound) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.split_overlong = true;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({310}), IsOk());
  const Admission admission = Admit(job.state(), 200);
  EXPECT_EQ(LengthsOf(admission.documents), (std::vector<uint32_t>{150, 150, 10}));
  EXPECT_EQ(admission.documents[2].offset, 300U);
  EXPECT_EQ(admission.tokens, 310U);
  EXPECT_EQ(admission.taken, std::vector<uint64_t>{1});
}

TEST(AdmitTest, OverlongDocumentsAreCutWherePaddingLeavesRoom) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.split_overlong = true;
  spec.context_parallel = 4;
  spec.layout.kind = Layout::kTeThd;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({310}), IsOk());
  EXPECT_EQ(LengthsOf(Admit(job.state(), 200).documents),
            (std::vector<uint32_t>{144, 144, 22}));
}

}  // namespace
}  // namespace evenpack
