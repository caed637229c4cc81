#include "client/cli/online/ingest_run.h"

#include <gmock/gmock.h>

#include <deque>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "tests/client/cli/online/fake_producer.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::FakeProducer;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Documents from a list, which may end in an error.
class ListSource : public DocumentSource {
 public:
  explicit ListSource(std::vector<SourceDocument> documents)
      : documents_(documents.begin(), documents.end()) {}

  absl::StatusOr<std::optional<SourceDocument>> Next() override {
    if (documents_.empty()) {
      if (!error_.ok()) return error_;
      return std::nullopt;
    }
    const SourceDocument document = documents_.front();
    documents_.pop_front();
    return document;
  }
  bool IsReady() const override { return documents_.size() != pause_before_; }
  Progress progress() const override { return {1, 2}; }

  void EndWith(const absl::Status& error) { error_ = error; }
  // Nothing can be read for a while when so many documents are left.
  void PauseBefore(size_t left) { pause_before_ = left; }

 private:
  std::deque<SourceDocument> documents_;
  absl::Status error_;
  size_t pause_before_ = std::numeric_limits<size_t>::max();
};

std::vector<SourceDocument> WithLengths(const std::vector<uint32_t>& lengths) {
  std::vector<SourceDocument> documents;
  for (const uint32_t length : lengths) documents.push_back({length, {}, {}, {}});
  return documents;
}

struct RunResult {
  absl::Status status;
  IngestReport report;
};

RunResult RunFrom(ListSource& source, FakeProducer& producer, uint64_t from = 0,
                  bool end_of_stream = false, size_t batch = 2) {
  ProgressBar progress(nullptr, "");
  IngestRun run(from, batch, source, producer, progress);
  const absl::Status status = run.Run(end_of_stream);
  return {status, run.Report()};
}

TEST(IngestRunTest, SendsEverythingInOrderAndWaitsUntilItIsAccepted) {
  ListSource source(WithLengths({5, 6, 7, 8, 9}));
  FakeProducer producer(0);
  const RunResult result = RunFrom(source, producer);
  EXPECT_THAT(result.status, IsOk());
  EXPECT_THAT(producer.lengths(), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(producer.batches(), ElementsAre(2, 2, 1));
  EXPECT_EQ(result.report.documents, 5U);
  EXPECT_EQ(result.report.tokens, 35U);
  EXPECT_EQ(result.report.next_sequence, 5U);
  EXPECT_FALSE(result.report.ended);
  EXPECT_FALSE(producer.ended());
}

TEST(IngestRunTest, EndsTheStreamWhereThatIsWished) {
  ListSource source(WithLengths({5}));
  FakeProducer producer(3);
  const RunResult result = RunFrom(source, producer, 3, true);
  EXPECT_THAT(result.status, IsOk());
  EXPECT_TRUE(producer.ended());
  EXPECT_TRUE(result.report.ended);
  EXPECT_EQ(result.report.next_sequence, 4U);
}

TEST(IngestRunTest, CountsWhatTheServerHadBefore) {
  ListSource source(WithLengths({5, 6, 7}));
  FakeProducer producer(0);
  producer.HasAlready(100);
  const RunResult result = RunFrom(source, producer);
  EXPECT_EQ(result.report.documents, 3U);
  EXPECT_EQ(result.report.tokens, 18U);
  EXPECT_EQ(result.report.next_sequence, 100U);
}

TEST(IngestRunTest, DoesNotCountWhatTheServerHadBeforeButOtherwise) {
  ListSource source(WithLengths({5, 6, 7}));
  FakeProducer producer(0);
  producer.HasAlready(100);
  producer.FailFlush(absl::AbortedError("other content"));
  const RunResult result = RunFrom(source, producer);
  EXPECT_THAT(result.status, StatusIs(absl::StatusCode::kAborted, "other content"));
  EXPECT_EQ(result.report.documents, 0U);
  EXPECT_EQ(result.report.tokens, 0U);
  EXPECT_EQ(result.report.next_sequence, 100U);
}

TEST(IngestRunTest, CountsWhatTheServerHadBeforeWhereItWasCutShort) {
  for (const auto& error : {absl::CancelledError("a signal"),
                            absl::UnavailableError("gave up after 6 attempts")}) {
    ListSource source(WithLengths({5, 6, 7}));
    FakeProducer producer(0);
    producer.HasAlready(100);
    producer.FailFlush(error);
    const RunResult result = RunFrom(source, producer);
    EXPECT_EQ(result.status, error);
    EXPECT_EQ(result.report.documents, 3U);
    EXPECT_EQ(result.report.tokens, 18U);
    EXPECT_EQ(result.report.next_sequence, 100U);
  }
}

TEST(IngestRunTest, CountsWhatTheServerHadBeforeABadLine) {
  ListSource source(WithLengths({5, 6}));
  source.EndWith(absl::InvalidArgumentError("line 3: 'x'"));
  FakeProducer producer(0);
  producer.HasAlready(100);
  const RunResult result = RunFrom(source, producer);
  EXPECT_THAT(result.status,
              StatusIs(absl::StatusCode::kInvalidArgument, "line 3: 'x'"));
  EXPECT_EQ(result.report.documents, 2U);
  EXPECT_EQ(result.report.tokens, 11U);
}

TEST(IngestRunTest, CountsNewDocumentsBehindThoseItHadBefore) {
  ListSource source(WithLengths({5, 6, 7, 8}));
  FakeProducer producer(10);
  producer.HasAlready(11);
  const RunResult result = RunFrom(source, producer, 10);
  EXPECT_EQ(result.report.documents, 4U);
  EXPECT_EQ(result.report.tokens, 26U);
  EXPECT_EQ(result.report.next_sequence, 14U);
}

TEST(IngestRunTest, SendsTheLinesBeforeABadOneAndNothingBehind) {
  ListSource source(WithLengths({5, 6, 7}));
  source.EndWith(absl::InvalidArgumentError("line 4: 'x'"));
  FakeProducer producer(0);
  const RunResult result = RunFrom(source, producer, 0, true);
  EXPECT_THAT(result.status,
              StatusIs(absl::StatusCode::kInvalidArgument, "line 4: 'x'"));
  EXPECT_THAT(producer.lengths(), ElementsAre(5, 6, 7));
  EXPECT_EQ(result.report.documents, 3U);
  EXPECT_FALSE(producer.ended());
}

TEST(IngestRunTest, SendsWhatThereIsRatherThanWaitForAFullMessage) {
  ListSource source(WithLengths({5, 6, 7, 8}));
  source.PauseBefore(1);
  FakeProducer producer(0);
  EXPECT_THAT(RunFrom(source, producer, 0, false, 100).status, IsOk());
  EXPECT_THAT(producer.batches(), ElementsAre(3, 1));
}

TEST(IngestRunTest, ReportsWhatWasAcceptedBeforeTheServerRefused) {
  ListSource source(WithLengths({5, 6, 7, 8}));
  FakeProducer producer(0);
  producer.RefuseFrom(2, absl::AbortedError("other content"));
  const RunResult result = RunFrom(source, producer);
  EXPECT_THAT(result.status, StatusIs(absl::StatusCode::kAborted, "other content"));
  EXPECT_EQ(result.report.documents, 2U);
  EXPECT_EQ(result.report.tokens, 11U);
  EXPECT_EQ(result.report.next_sequence, 2U);
}

TEST(IngestRunTest, AFaultOfTheServerGoesBeforeABadLine) {
  ListSource source(WithLengths({5}));
  source.EndWith(absl::InvalidArgumentError("line 2: 'x'"));
  FakeProducer producer(0);
  producer.FailFlush(absl::UnavailableError("gone"));
  EXPECT_THAT(RunFrom(source, producer).status,
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

TEST(IngestRunTest, AnEmptySourceSendsNothing) {
  ListSource source({});
  FakeProducer producer(0);
  const RunResult result = RunFrom(source, producer, 0, true);
  EXPECT_THAT(result.status, IsOk());
  EXPECT_THAT(producer.batches(), IsEmpty());
  EXPECT_TRUE(producer.ended());
}

TEST(IngestRunTest, ColumnsBeginWithTheFirstValueAndHaveDefaultsBeside) {
  ListSource source({{5, {}, {}, {}}, {6, 70, 2, 9}, {7, {}, {}, {}}, {8, {}, {}, {}}});
  FakeProducer producer(40);
  EXPECT_THAT(RunFrom(source, producer, 40, false, 3).status, IsOk());
  const auto& columns = producer.columns();
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_THAT(columns[0].id, ElementsAre(40, 70, 42));
  EXPECT_THAT(columns[0].loss_tokens, ElementsAre(5, 2, 7));
  EXPECT_THAT(columns[0].source, ElementsAre(0, 9, 0));
  EXPECT_THAT(columns[1].id, IsEmpty());
  EXPECT_THAT(columns[1].loss_tokens, IsEmpty());
  EXPECT_THAT(columns[1].source, IsEmpty());
}

}  // namespace
}  // namespace evenpack
