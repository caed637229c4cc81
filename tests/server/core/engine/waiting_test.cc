#include "server/core/engine/waiting.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Lengths = std::vector<uint32_t>;

// Documents 0 to 8: 0, 1, 2 queued in two queues, 3, 4 left over, 5 to 8 planned.
Waiting ExampleWaiting() {
  const std::vector<Document> documents =
      testing::MakeDocuments({50, 90, 60, 7, 6, 20, 21, 22, 23});
  Waiting waiting;
  waiting.queues.resize(2);
  waiting.queues[0].PushBack(std::vector{documents[0], documents[2]});
  waiting.queues[1].PushBack(std::vector{documents[1]});
  waiting.left_over = {documents[4], documents[3]};
  waiting.planned.resize(1);
  waiting.planned[0].micro_batches.resize(2);
  waiting.planned[0].micro_batches[0].documents = {documents[8], documents[5]};
  waiting.planned[0].micro_batches[1].documents = {documents[6], documents[7]};
  return waiting;
}

TEST(WaitingTest, EveryDocumentIsVisitedOnce) {
  Lengths lengths;
  ForEachWaiting(ExampleWaiting(), [&lengths](const Document& document) {
    lengths.push_back(document.length);
  });
  EXPECT_EQ(lengths, (Lengths{50, 60, 90, 6, 7, 23, 20, 21, 22}));
}

TEST(WaitingTest, PlannedTokensDoNotCountAsWaiting) {
  EXPECT_EQ(WaitingTokens(ExampleWaiting()), 213U);
  EXPECT_FALSE(evenpack::IsEmpty(ExampleWaiting()));
  EXPECT_TRUE(evenpack::IsEmpty({}));
  Waiting planned;
  planned.planned.resize(1);
  EXPECT_FALSE(evenpack::IsEmpty(planned));
}

TEST(RearrangeTest, NewThresholdsQueueAnewInTheOrderOfAdmission) {
  PolicySpec policy;
  policy.queue_thresholds = {55};
  const Waiting waiting = Rearrange(ExampleWaiting(), policy);
  ASSERT_EQ(waiting.queues.size(), 1U);
  EXPECT_EQ(testing::LengthsOf(PointTo(waiting.queues[0].view())), (Lengths{90, 60}));
  EXPECT_EQ(testing::LengthsOf(waiting.left_over), (Lengths{6, 7, 20, 21, 22, 23, 50}));
  EXPECT_TRUE(waiting.planned.empty());
}

TEST(RearrangeTest, FixedGreedyHasNoQueues) {
  PolicySpec policy;
  policy.kind = PolicyKind::kFixedGreedy;
  policy.queue_thresholds = {55};
  const Waiting waiting = Rearrange(ExampleWaiting(), policy);
  EXPECT_TRUE(waiting.queues.empty());
  EXPECT_EQ(testing::LengthsOf(waiting.left_over),
            (Lengths{6, 7, 20, 21, 22, 23, 50, 90, 60}));
}

TEST(TakeAtTest, PutBackAtUndoesIt) {
  const std::vector<Document> all = testing::MakeDocuments({1, 2, 3, 4, 5});
  for (uint32_t chosen = 0; chosen < 32; ++chosen) {
    std::vector<uint64_t> positions;
    Lengths expected_taken;
    Lengths expected_kept;
    for (uint64_t i = 0; i < 5; ++i) {
      const bool is_chosen = (chosen >> i) % 2 == 1;
      if (is_chosen) positions.push_back(i);
      (is_chosen ? expected_taken : expected_kept).push_back(all[i].length);
    }
    std::vector<Document> documents = all;
    const std::vector<Document> taken = TakeAt(positions, documents);
    EXPECT_EQ(testing::LengthsOf(taken), expected_taken);
    EXPECT_EQ(testing::LengthsOf(documents), expected_kept);
    PutBackAt(positions, taken, documents);
    EXPECT_EQ(documents, all) << chosen;
  }
}

}  // namespace
}  // namespace evenpack
