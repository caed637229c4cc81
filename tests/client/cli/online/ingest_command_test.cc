#include "client/cli/online/ingest_command.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/cli/online/fake_producer.h"
#include "tests/client/cli/online/fake_python.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::FakeProducer;
using ::evenpack::testing::FakePython;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::testing::HasSubstr;

std::string Lengths(const std::string& text) {
  return ScratchFile("ingest_command_test.txt", text);
}

class IngestCommandTest : public ::testing::Test {
 protected:
  // The connection gives out `producer_`.
  void ExpectOpened() {
    EXPECT_CALL(*context_.connection, OpenProducer)
        .WillOnce([this](const client::ProducerOptions& options) {
          options_ = options;
          return absl::StatusOr<std::unique_ptr<client::Producer>>(
              std::move(producer_));
        });
  }
  absl::Status Run(const FlagValues& values) {
    return RunIngest(values, context_.Get());
  }

  TestContext context_;
  std::unique_ptr<FakeProducer> producer_ = std::make_unique<FakeProducer>(0);
  client::ProducerOptions options_;
};

TEST_F(IngestCommandTest, BeginsAtSequenceNumber0OfTheStreamDefault) {
  ExpectOpened();
  EXPECT_THAT(Run({{"--job", "run-7"}, {"--lengths", Lengths("5\n6\n")}}), IsOk());
  EXPECT_EQ(options_.job, "run-7");
  EXPECT_EQ(options_.stream, "default");
  EXPECT_EQ(options_.from_sequence, 0U);
  EXPECT_EQ(options_.batch_documents, 1024U);
  EXPECT_THAT(context_.out.text(),
              HasSubstr("run-7/default: 2 documents, 11 tokens accepted in "));
  EXPECT_THAT(context_.out.text(), HasSubstr("next sequence number 2\n"));
  EXPECT_EQ(context_.err.text(), "");
}

TEST_F(IngestCommandTest, PassesItsFlagsOn) {
  producer_ = std::make_unique<FakeProducer>(7);
  ExpectOpened();
  EXPECT_THAT(Run({{"--job", "run-7"},
                   {"--stream", "web"},
                   {"--lengths", Lengths("5\n6\n")},
                   {"--from-sequence", "7"},
                   {"--batch", "100000"},
                   {"--end-of-stream", "true"},
                   {"--json", "true"}}),
              IsOk());
  EXPECT_EQ(options_.stream, "web");
  EXPECT_EQ(options_.from_sequence, 7U);
  EXPECT_EQ(options_.batch_documents, 100'000U);
  EXPECT_THAT(Validate(options_), IsOk());
  auto report = nlohmann::ordered_json::parse(context_.out.text());
  EXPECT_GE(report["seconds"].get<double>(), 0);
  EXPECT_GE(report["documents_per_second"].get<double>(), 0);
  report["seconds"] = 0;
  report["documents_per_second"] = 0;
  EXPECT_EQ(report.dump(),
            R"({"job":"run-7","stream":"web","documents":2,"tokens":11,)"
            R"("next_sequence":9,"ended":true,"seconds":0,"documents_per_second":0})");
}

TEST_F(IngestCommandTest, ReportsWhatWasAcceptedBeforeABadLine) {
  ExpectOpened();
  EXPECT_THAT(Run({{"--job", "run-7"},
                   {"--lengths", Lengths("5\n6\nx\n7\n")},
                   {"--end-of-stream", "true"},
                   {"--json", "true"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 3: 'x'")));
  const auto report = nlohmann::json::parse(context_.out.text());
  EXPECT_EQ(report["documents"], 2);
  EXPECT_EQ(report["next_sequence"], 2);
  EXPECT_EQ(report["ended"], false);
}

// Of a file with `lines` documents that are passed over, and two more.
FlagValues Tokenized(const std::string& lines) {
  const std::string python = FakePython("lines=" + lines + R"(
    for argument; do case $argument in --skip=*) skip=${argument#--skip=};; esac; done
    if [ $skip -gt $lines ]; then
      echo "{\"skipped\": $lines}"
      echo '{"documents": 0}'
      exit
    fi
    echo "{\"skipped\": $skip}"
    echo '{"length": 5, "end": 1, "id": 70}'
    echo '{"length": 6, "end": 2}'
    echo '{"documents": 2}')");
  return {{"--job", "run-7"},
          {"--jsonl", Lengths("")},
          {"--tokenizer", "tiktoken:gpt2"},
          {"--python", python},
          {"--json", "true"}};
}

TEST_F(IngestCommandTest, ATokenizerPassesOverWhatTheStreamHas) {
  producer_ = std::make_unique<FakeProducer>(50);
  ExpectOpened();
  FlagValues values = Tokenized("1000");
  values["--from-sequence"] = "7";
  EXPECT_THAT(Run(values), IsOk());
  EXPECT_EQ(options_.from_sequence, std::nullopt);
  EXPECT_EQ(context_.err.text(),
            "evenpackctl: note: documents that stream 'default' has already, passed "
            "over: 43\n");
  const auto report = nlohmann::json::parse(context_.out.text());
  EXPECT_EQ(report["documents"], 2);
  EXPECT_EQ(report["tokens"], 11);
  EXPECT_EQ(report["next_sequence"], 52);
  EXPECT_EQ(report["ended"], false);
}

TEST_F(IngestCommandTest, AStreamThatHasMoreThanTheFileIsNotEnded) {
  for (const bool end : {false, true}) {
    producer_ = std::make_unique<FakeProducer>(50);
    ExpectOpened();
    FlagValues values = Tokenized("30");
    if (end) values["--end-of-stream"] = "true";
    const absl::Status status = Run(values);
    if (end) {
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kOutOfRange,
                           "documents: 30 is not how many stream 'default' has; "
                           "accepted: 50, the number accepted so far"));
    } else {
      EXPECT_THAT(status, IsOk());
    }
  }
}

TEST_F(IngestCommandTest, ATokenizerLeavesNoGap) {
  producer_ = std::make_unique<FakeProducer>(50);
  ExpectOpened();
  FlagValues values = Tokenized("0");
  values["--from-sequence"] = "51";
  EXPECT_THAT(
      Run(values),
      StatusIs(absl::StatusCode::kOutOfRange,
               "from_sequence: 51 leaves a gap in stream 'default'; accepted: at "
               "most 50, the number of its next document"));
}

TEST_F(IngestCommandTest, AStreamIsNotEndedWhereTheTokenizerFails) {
  producer_ = std::make_unique<FakeProducer>(0);
  ExpectOpened();
  FlagValues values = Tokenized("0");
  values["--python"] =
      FakePython("echo '{\"skipped\": 0}'; echo '{\"length\": 5, \"end\": 1}'; exit 0");
  values["--end-of-stream"] = "true";
  EXPECT_THAT(Run(values), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("before it was done")));
  const auto report = nlohmann::json::parse(context_.out.text());
  EXPECT_EQ(report["documents"], 1);
  EXPECT_EQ(report["ended"], false);
}

TEST_F(IngestCommandTest, WritesNothingWhereTheServerRefusesTheStream) {
  EXPECT_CALL(*context_.connection, OpenProducer)
      .WillOnce([](const client::ProducerOptions&) {
        return absl::StatusOr<std::unique_ptr<client::Producer>>(
            absl::NotFoundError("no such stream"));
      });
  EXPECT_THAT(Run({{"--job", "run-7"}, {"--lengths", Lengths("5\n")}}),
              StatusIs(absl::StatusCode::kNotFound, "no such stream"));
  EXPECT_EQ(context_.out.text(), "");
}

TEST_F(IngestCommandTest, StopsWhereItIsInterrupted) {
  ExpectOpened();
  context_.interrupt.Request();
  EXPECT_THAT(Run({{"--job", "run-7"}, {"--lengths", Lengths("5\n")}}),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(context_.out.text(), HasSubstr("0 documents"));
}

TEST_F(IngestCommandTest, RefusesBadFlagsBeforeItConnects) {
  const std::string file = Lengths("5\n");
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--lengths", file}}, "--job is missing"},
      {{{"--job", "a"}}, "--lengths is missing"},
      {{{"--job", "a"}, {"--lengths", file}, {"--stream", ""}}, "--stream: ''"},
      {{{"--job", "a"}, {"--lengths", file}, {"--batch", "0"}}, "--batch: '0'"},
      {{{"--job", "a"}, {"--lengths", file}, {"--batch", "1048577"}}, "1 to 1048576"},
      {{{"--job", "a"}, {"--lengths", file}, {"--from-sequence", "-1"}},
       "--from-sequence: '-1'"},
      {{{"--job", "a"}, {"--lengths", "/no/such/file"}}, "--lengths: '/no/such/file'"},
      {{{"--job", "a"}, {"--lengths", file}, {"--server", "x"}}, "--server: 'x'"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(Run(values),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
  EXPECT_THAT(context_.servers, ::testing::IsEmpty());
}

}  // namespace
}  // namespace evenpack
