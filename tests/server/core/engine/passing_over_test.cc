#include "server/core/engine/passing_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(PassingOverTest, RangesAreReadByStream) {
  const TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  const std::vector<DocumentRange> ranges = {{"a", 4, 2}, {"a", kMost - 1, 1}};
  EXPECT_EQ(ReadRanges(job.state(), ranges).value(),
            (std::vector<SkippedRange>{{0, {4, 6}}, {0, {kMost - 1, kMost}}}));
}

TEST(PassingOverTest, BadRangesAreRefusedByName) {
  const TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  const auto read = [&job](const DocumentRange& range) {
    const std::vector<DocumentRange> ranges = {{"a", 0, 1}, range};
    return ReadRanges(job.state(), ranges).status();
  };
  EXPECT_THAT(
      read({"a", 4, 0}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("skip[1].documents: 0 is not accepted; accepted: 1 to")));
  EXPECT_THAT(read({"a", kMost, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "skip[1].first_sequence: 18446744073709551615 is not accepted; "
                       "accepted: 0 to 18446744073709551614"));
  EXPECT_THAT(read({"a", kMost - 1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "skip[1].documents: 2 is not accepted; accepted: 1 to 1"));
  EXPECT_THAT(read({"b", 0, 1}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("stream: 'b'")));
}

TEST(PassingOverTest, AJobHasSoManyRangesAndNoMore) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 10);
  spec.streams.push_back({"b", 1});
  TestJob job(spec);
  std::vector<DocumentRange> ranges = {{"b", 0, 1}};
  for (uint64_t i = 1; i < kMaxSkippedRanges; ++i) ranges.push_back({"a", 2 * i, 1});
  ASSERT_THAT(job.Do(SkipDocuments{0, ranges}), IsOk());
  const JobState before = job.state();
  EXPECT_THAT(job.Do(SkipDocuments{0, {{"a", 2 * kMaxSkippedRanges, 1}}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("10000")));
  EXPECT_EQ(job.state(), before);
  EXPECT_THAT(job.Do(SkipDocuments{0, {{"b", 2, 1}}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("10000")));
  // One that fills a gap makes them fewer.
  EXPECT_THAT(job.Do(SkipDocuments{0, {{"a", 3, 1}}}), IsOk());
}

// A plan loses what is skipped, and what is left of it waits.
TEST(PassingOverTest, BuffersQueuesLeftOversAndPlansLoseWhatIsSkipped) {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 1, 10);
  spec.policy.window_batches = 3;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({8, 7, 7, 7, 4, 9, 9}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobState state = job.state();
  ASSERT_EQ(state.waiting.planned.size(), 2U);
  ASSERT_EQ(state.streams[0].buffer.size(), 2U);
  const uint64_t planned =
      state.waiting.planned[0].micro_batches[0].documents[0].sequence;
  AddSkipped(std::vector<SkippedRange>{{0, {planned, planned + 1}}, {0, {5, 6}}},
             state);
  PassOver(state);
  EXPECT_TRUE(state.waiting.planned.empty());
  EXPECT_EQ(state.streams[0].buffer.size(), 1U);
  EXPECT_EQ(state.streams[0].buffer.tokens(), 9U);
  uint64_t waiting = 0;
  ForEachWaiting(state.waiting, [&](const Document& document) {
    EXPECT_NE(document.sequence, planned);
    ++waiting;
  });
  EXPECT_GT(waiting, 0U);

  TestJob queued([] {
    JobSpec with_queues = MakeSpec(PolicyKind::kWlb, 2, 10);
    with_queues.policy.queue_thresholds = {8};
    return with_queues;
  }());
  ASSERT_THAT(queued.Ingest({9, 3, 3, 3, 3}), IsOk());
  ASSERT_THAT(queued.Do(FormStep{}), IsOk());
  JobState held = queued.state();
  ASSERT_EQ(held.waiting.queues[0].size(), 1U);
  AddSkipped(std::vector<SkippedRange>{{0, {0, 1}}}, held);
  PassOver(held);
  EXPECT_TRUE(held.waiting.queues[0].empty());
}

}  // namespace
}  // namespace evenpack
