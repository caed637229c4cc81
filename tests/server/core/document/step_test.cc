#include "server/core/document/step.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

Step ExampleStep() {
  Step step;
  step.index = 3;
  step.micro_batches.resize(2);
  step.micro_batches[0].documents = testing::MakeDocuments({3, 4});
  step.micro_batches[0].tokens = 7;
  AddDigests(step);
  return step;
}

TEST(StepTest, CountsItsTokens) { EXPECT_EQ(StepTokens(ExampleStep()), 7U); }

TEST(StepTest, TheDigestIsOfTheDocumentedWords) {
  const Step step = ExampleStep();
  DigestBuilder builder;
  builder.Add(GenesisDigest());
  builder.Word(3);
  builder.Word(2);
  builder.Add(MicroBatchDigest(step.micro_batches[0]));
  builder.Add(MicroBatchDigest(step.micro_batches[1]));
  EXPECT_EQ(StepDigest(GenesisDigest(), step), builder.Finish());
}

TEST(StepTest, TheDigestCoversHistoryPlaceAndOrder) {
  const Step step = ExampleStep();
  const Digest128 digest = StepDigest(GenesisDigest(), step);
  EXPECT_NE(StepDigest(digest, step), digest);
  Step later = step;
  later.index = 4;
  EXPECT_NE(StepDigest(GenesisDigest(), later), digest);
  Step swapped = step;
  std::swap(swapped.micro_batches[0], swapped.micro_batches[1]);
  EXPECT_NE(StepDigest(GenesisDigest(), swapped), digest);
}

TEST(StepTest, KindsHaveNames) {
  EXPECT_EQ(StepKindName(StepKind::kFullBatch), "full_batch");
  EXPECT_EQ(StepKindName(StepKind::kBacklog), "backlog");
  EXPECT_EQ(StepKindName(StepKind::kDrain), "drain");
}

}  // namespace
}  // namespace evenpack
