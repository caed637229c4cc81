#include "server/core/engine/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

Ingest Batch(uint64_t first, std::vector<uint32_t> lengths) {
  Ingest command;
  command.stream = std::string(1, 'a');
  command.first_sequence = first;
  command.lengths = std::move(lengths);
  return command;
}

TEST(IngestTest, NumbersDocumentsAndFillsInDefaults) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Do(Batch(0, {10, 20})), IsOk());
  const StreamState& stream = job.state().streams[0];
  EXPECT_EQ(stream.next_sequence, 2U);
  const Document& second = stream.buffer.view()[1];
  EXPECT_EQ(second.sequence, 1U);
  EXPECT_EQ(second.id, 1U);
  EXPECT_EQ(second.loss_tokens, 20U);
  EXPECT_EQ(second.document_length, 20U);
}

TEST(IngestTest, KeepsTheColumnsThatAreGiven) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  Ingest command = Batch(0, {10, 20});
  command.ids = {7, 7};
  command.loss_tokens = {0, 20};
  command.sources = {3, 4};
  ASSERT_THAT(job.Do(command), IsOk());
  const Document& first = job.state().streams[0].buffer.front();
  EXPECT_EQ(first.id, 7U);
  EXPECT_EQ(first.loss_tokens, 0U);
  EXPECT_EQ(first.source, 3U);
}

TEST(IngestTest, BadBatchesAreRefusedWholeAndByName) {
  struct {
    Ingest command;
    absl::StatusCode code;
    const char* message;
  } cases[] = {
      {Batch(5, {1, 0}), absl::StatusCode::kInvalidArgument,
       "lengths[1]: 0 is not accepted; accepted: 1 to 150 (max_length; longer with "
       "split_overlong); it would be document 6 of the stream"},
      {Batch(5, {151}), absl::StatusCode::kInvalidArgument, "lengths[0]: 151"},
      {Batch(0, {10}), absl::StatusCode::kNotFound,
       "stream: 'b' is not accepted; accepted: the job's streams, a"},
      {Batch(6, {10}), absl::StatusCode::kOutOfRange,
       "first_sequence: 6 leaves a gap in stream 'a'; accepted: up to 5, the next "
       "number expected"},
      {Batch(std::numeric_limits<uint64_t>::max(), {10}),
       absl::StatusCode::kInvalidArgument, "first_sequence: 18446744073709551615"},
      {Batch(0, {10}), absl::StatusCode::kInvalidArgument,
       "ids: 2 values is not accepted; accepted: none, or as many as lengths: 1"},
      {Batch(0, {10}), absl::StatusCode::kInvalidArgument, "loss_tokens: 2 values"},
      {Batch(0, {10}), absl::StatusCode::kInvalidArgument, "sources: 2 values"},
      {Batch(5, {10}), absl::StatusCode::kInvalidArgument,
       "loss_tokens[0]: 11 is not accepted; accepted: 0 to the document's length, 10"},
  };
  cases[2].command.stream = "b";
  cases[5].command.ids = {1, 2};
  cases[6].command.loss_tokens = {1, 2};
  cases[7].command.sources = {1, 2};
  cases[8].command.loss_tokens = {11};
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Do(Batch(0, {1, 2, 3, 4, 5})), IsOk());
  const JobState before = job.state();
  for (const auto& c : cases) {
    EXPECT_THAT(job.Do(c.command), StatusIs(c.code, HasSubstr(c.message)));
  }
  EXPECT_EQ(job.state(), before);
}

TEST(IngestTest, SplitOverlongAcceptsAnyLength) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 30'000);
  spec.split_overlong = true;
  TestJob job(spec);
  EXPECT_THAT(job.Do(Batch(0, {2147483647})), IsOk());
  EXPECT_THAT(job.Do(Batch(1, {2147483648U})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "lengths[0]: 2147483648 is not accepted; accepted: 1 to "
                       "2147483647; it would be document 1 of the stream"));
}

// One document of 2^31-1 tokens in pieces of one would take all memory there is.
TEST(IngestTest, SplitOverlongCutsInABoundedNumberOfPieces) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 1);
  spec.split_overlong = true;
  TestJob job(spec);
  EXPECT_THAT(job.Do(Batch(0, {65'537})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "lengths[0]: 65537 is not accepted; accepted: 1 to 65536 (65536 "
                       "pieces); it would be document 0 of the stream"));
  EXPECT_THAT(job.Do(Batch(0, {65'536})), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(job.state().waiting.left_over.size(), 65'535U);
}

TEST(IngestTest, PaddingCountsInTheLongestAccepted) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.context_parallel = 4;
  spec.layout.kind = Layout::kMegatronThd;
  TestJob job(spec);
  EXPECT_THAT(job.Do(Batch(0, {144})), IsOk());
  EXPECT_THAT(job.Do(Batch(1, {145})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "lengths[0]: 145 is not accepted; accepted: 1 to 144 (what "
                       "max_length holds with padding; longer with split_overlong); "
                       "it would be document 1 of the stream"));
}

TEST(IngestTest, ATrueResendIsTrimmed) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Do(Batch(0, {10, 20, 30})), IsOk());
  const JobState before = job.state();
  EXPECT_THAT(job.Do(Batch(0, {10, 20, 30})), IsOk());
  EXPECT_THAT(job.Do(Batch(1, {20})), IsOk());
  EXPECT_THAT(job.Do(Batch(3, {})), IsOk());
  EXPECT_EQ(job.state(), before);
  EXPECT_THAT(job.Do(Batch(2, {30, 40})), IsOk());
  EXPECT_EQ(job.state().streams[0].next_sequence, 4U);
  EXPECT_EQ(job.state().streams[0].buffer.tokens(), 100U);
}

TEST(IngestTest, AResendIsRecognisedAfterItsDocumentsWereEmitted) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 30));
  ASSERT_THAT(job.Do(Batch(0, {10, 20})), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_THAT(job.Do(Batch(0, {10, 20})), IsOk());
  EXPECT_TRUE(job.state().streams[0].buffer.empty());
  EXPECT_THAT(job.Do(Batch(0, {10, 21})),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("sequence 1 of stream")));
}

TEST(IngestTest, AResendIsNotHeldToABoundThatCameLater) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 100));
  ASSERT_THAT(job.Do(Batch(0, {150})), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  JobSpec shorter = job.state().spec;
  shorter.max_length = 120;
  testing::ResolveCosts(shorter);
  ASSERT_THAT(job.Do(UpdateJob{1, shorter}), IsOk());
  EXPECT_THAT(job.Do(Batch(0, {150, 20})), IsOk());
  EXPECT_EQ(job.state().streams[0].next_sequence, 2U);
  EXPECT_THAT(
      job.Do(Batch(0, {150, 20, 121})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lengths[2]: 121")));
}

TEST(IngestTest, OtherContentUnderTheSameNumbersIsAborted) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Do(Batch(0, {10, 20, 30})), IsOk());
  const JobState before = job.state();
  EXPECT_THAT(
      job.Do(Batch(1, {20, 31, 40})),
      StatusIs(absl::StatusCode::kAborted,
               "sequence 2 of stream 'a' was accepted with other content than is sent "
               "now; accepted: the same documents again, or new ones from 3"));
  EXPECT_EQ(job.state(), before);
}

TEST(EndOfStreamTest, NeedsAllDocumentsAndForbidsMore) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Do(Batch(0, {10, 20})), IsOk());
  EXPECT_THAT(job.Do(EndOfStream{"a", 3}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "documents: 3 is not how many stream 'a' has; accepted: 2, the "
                       "number accepted so far"));
  EXPECT_THAT(job.Do(EndOfStream{"z", 2}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'z'")));
  EXPECT_THAT(job.Do(EndOfStream{"a", 2}), IsOk());
  EXPECT_THAT(job.Do(EndOfStream{"a", 2}), IsOk());
  EXPECT_THAT(job.Do(Batch(2, {1})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "stream 'a' ended after 2 documents; accepted: none after its "
                       "end"));
  EXPECT_THAT(job.Do(Batch(0, {10, 20})), IsOk());
}

}  // namespace
}  // namespace evenpack
