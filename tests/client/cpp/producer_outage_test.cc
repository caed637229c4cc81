// A server that is away, as whoever feeds it sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/cpp/producer_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::Accepted;
using ::evenpack::testing::Documents;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ProducerFixture;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

class ProducerOutageTest : public ProducerFixture {};

TEST_F(ProducerOutageTest, BacksOffLongerWithEachFailureAndGivesUp) {
  client_options_.backoff.total = milliseconds(300);
  const auto producer = Start();
  for (int i = 0; i < 4; ++i) stub_->AwaitIngestCall()->End(kGone);
  EXPECT_THAT(producer->AwaitOpen(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "connection reset (gave up after 4 attempts)"));
  EXPECT_THAT(sleeper_->slept(),
              ElementsAre(milliseconds(100), milliseconds(160), milliseconds(40)));
}

TEST_F(ProducerOutageTest, AServerThatOpensCallsAndAcceptsNothingIsGivenUp) {
  client_options_.backoff.total = milliseconds(300);
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  ExpectBatch(*call_, 0, 1);
  call_->End(kGone);
  for (int i = 0; i < 3; ++i) {
    call_ = Accept(0);
    ExpectBatch(*call_, 0, 1);
    call_->End(kGone);
  }
  EXPECT_THAT(producer->Flush(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "connection reset (gave up after 4 attempts)"));
  EXPECT_THAT(sleeper_->slept(),
              ElementsAre(milliseconds(100), milliseconds(160), milliseconds(40)));
}

TEST_F(ProducerOutageTest, AcceptedDocumentsEndARowOfFailures) {
  client_options_.backoff.total = milliseconds(300);
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(8)), IsOk());
  call_->End(kGone);
  Accept(0)->End(kGone);
  call_ = Accept(0);
  call_->Send(Accepted(4));
  call_->End(kGone);
  Accept(4)->End(kGone);
  call_ = Accept(4);
  ExpectBatch(*call_, 4, 4);
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(100), milliseconds(160),
                                             milliseconds(100), milliseconds(160)));
}

TEST_F(ProducerOutageTest, WhoeverAsksIsToldOfLostCallsAndThatItGoesOn) {
  std::vector<std::string> told;
  std::optional<ProducerSession> producer;
  client_options_.on_retry = [&](const RetryNews& news) {
    // Under no lock of the producer's.
    told.push_back(absl::StrCat(news.what, ": ", news.why.message(), " ",
                                producer->accepted_sequence()));
  };
  producer.emplace(stub_, client_options_, options_);
  call_ = Accept(0);
  EXPECT_THAT(producer->AwaitOpen(), IsOk());
  EXPECT_THAT(producer->Add(Documents(8)), IsOk());
  call_->End(kGone);
  call_ = Accept(0);
  call_->Send(Accepted(4));
  call_->Send(Accepted(8));
  EXPECT_THAT(producer->Flush(), IsOk());
  producer.reset();
  EXPECT_THAT(told, ElementsAre("feeding stream 'web' of job 'run': connection reset 0",
                                "feeding stream 'web' of job 'run':  4"));
}

TEST_F(ProducerOutageTest, ACallThatLastedEndsARowOfFailures) {
  client_options_.backoff.total = milliseconds(300);
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  call_->End(kGone);
  call_ = Accept(0);
  ExpectBatch(*call_, 0, 1);
  // The stream is full, say.
  clock_.Advance(client_options_.backoff.maximum);
  call_->End(kGone);
  call_ = Accept(0);
  ExpectBatch(*call_, 0, 1);
}

TEST_F(ProducerOutageTest, AnIdleProducerOutlivesALongOutage) {
  client_options_.backoff.total = milliseconds(300);
  const auto producer = Open();
  call_->End(kGone);
  call_->AwaitGone();
  clock_.Advance(std::chrono::hours(2));
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  stub_->AwaitIngestCall()->End(kGone);
  call_ = Accept(0);
  ExpectBatch(*call_, 0, 1);
}

}  // namespace
}  // namespace evenpack::client
