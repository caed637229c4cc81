#include "server/core/outlier/release.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

// Documents of the given batches.
std::vector<Document> OfBatches(const std::vector<uint64_t>& batches) {
  std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(batches.size(), 10));
  for (size_t i = 0; i < batches.size(); ++i) documents[i].batch = batches[i];
  return documents;
}

struct Case {
  const char* what;
  std::vector<uint64_t> queued;
  std::vector<uint64_t> entering;
  ReleaseRule rule;
  size_t expected;
};

TEST(ReleaseTest, OneQueue) {
  const Case cases[] = {
      {"an empty queue gives nothing", {}, {}, {.micro_batches = 4}, 0},
      {"a queue below N waits", {0, 1, 2}, {}, {.micro_batches = 4}, 0},
      {"a queue of N gives N", {0, 1, 2, 3}, {}, {.micro_batches = 4}, 4},
      {"one pop a step", {0, 0, 0, 0, 0, 0, 0, 0, 0}, {}, {.micro_batches = 4}, 4},
      {"what enters counts", {0, 1, 2}, {3}, {.micro_batches = 4}, 4},
      {"a short queue goes in backlog steps",
       {0, 1},
       {},
       {.micro_batches = 4, .release_short_queues = true},
       2},
      {"but never more than N",
       {0, 1, 2, 3, 4},
       {},
       {.micro_batches = 4, .release_short_queues = true},
       4},
      {"due documents go from a short queue",
       {0, 1, 2},
       {},
       {.micro_batches = 4, .due_before_batch = 2},
       2},
      {"due documents may exceed N",
       {0, 0, 0},
       {},
       {.micro_batches = 2, .due_before_batch = 1},
       3},
      {"due documents are part of N",
       {0, 1, 1, 1},
       {},
       {.micro_batches = 3, .due_before_batch = 1},
       3},
      {"entering documents can be due",
       {0},
       {1, 2},
       {.micro_batches = 9, .due_before_batch = 2},
       2},
      {"but only behind a queue that is all due",
       {0, 5},
       {5},
       {.micro_batches = 9, .due_before_batch = 1},
       1},
  };
  for (const Case& c : cases) {
    std::vector<DocumentFifo> queues(1);
    queues[0].PushBack(OfBatches(c.queued));
    const std::vector<std::vector<Document>> entering = {OfBatches(c.entering)};
    EXPECT_EQ(PlanRelease(queues, entering, c.rule), std::vector<size_t>{c.expected})
        << c.what;
  }
}

TEST(ReleaseTest, QueuesAreJudgedOneByOne) {
  std::vector<DocumentFifo> queues(3);
  queues[0].PushBack(OfBatches({0, 0}));
  queues[2].PushBack(OfBatches({0}));
  EXPECT_EQ(
      PlanRelease(queues, std::vector<std::vector<Document>>(3), {.micro_batches = 2}),
      (std::vector<size_t>{2, 0, 0}));
}

}  // namespace
}  // namespace evenpack
