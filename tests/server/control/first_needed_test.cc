#include "server/control/first_needed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/control/small_job.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;

Document Of(uint32_t stream, uint64_t sequence) {
  Document document;
  document.stream = stream;
  document.sequence = sequence;
  document.length = document.document_length = 10;
  return document;
}

// Two streams that have had 10 and 20 documents.
JobState EmptyState() {
  JobState state;
  state.streams.resize(2);
  state.streams[0].next_sequence = 10;
  state.streams[1].next_sequence = 20;
  return state;
}

TEST(FirstNeededTest, IsTheNextDocumentWhereNoneIsHeld) {
  EXPECT_THAT(FirstNeeded(EmptyState()), ElementsAre(10, 20));
}

TEST(FirstNeededTest, IsTheOldestInABufferAQueueAListOrAStep) {
  JobState state = EmptyState();
  state.streams[1].buffer.PushBack(std::vector{Of(1, 18), Of(1, 19)});
  EXPECT_THAT(FirstNeeded(state), ElementsAre(10, 18));
  state.waiting.queues.resize(2);
  state.waiting.queues[1].PushBack(std::vector{Of(0, 9)});
  state.waiting.left_over = {Of(1, 12), Of(0, 7)};
  EXPECT_THAT(FirstNeeded(state), ElementsAre(7, 12));
  state.waiting.planned.emplace_back().micro_batches.emplace_back().documents = {
      Of(1, 11)};
  EXPECT_THAT(FirstNeeded(state), ElementsAre(7, 11));
  StepRecord kept;
  kept.step.micro_batches.resize(2);
  kept.step.micro_batches[1].documents = {Of(0, 8), Of(1, 3)};
  state.history.emplace_back(kept);
  EXPECT_THAT(FirstNeeded(state), ElementsAre(7, 3));
  UpdateRecord update;
  update.waiting_before.left_over = {Of(0, 2)};
  state.history.emplace_back(update);
  EXPECT_THAT(FirstNeeded(state), ElementsAre(2, 3));
}

}  // namespace
}  // namespace evenpack
