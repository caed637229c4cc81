#include "client/cpp/producer_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/client/cpp/producer_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::Accepted;
using ::evenpack::testing::Documents;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ProducerFixture;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Status kDiffers =
    ServerError(absl::StatusCode::kAborted, "document 3 differs", "CONTENT_DIFFERS");

class ProducerSessionTest : public ProducerFixture {};

TEST_F(ProducerSessionTest, BeginsWhereTheServerSays) {
  const auto producer = Start();
  const auto call = stub_->AwaitIngestCall();
  const v1::OpenIngest open = call->AwaitMessage().open();
  EXPECT_EQ(open.job(), "run");
  EXPECT_EQ(open.stream(), "web");
  call->Send(Accepted(70));
  EXPECT_THAT(producer->AwaitOpen(), IsOk());
  EXPECT_EQ(producer->next_sequence(), 70U);
  EXPECT_EQ(producer->accepted_sequence(), 70U);
}

TEST_F(ProducerSessionTest, AGapBeforeTheFirstDocumentIsRefused) {
  options_.from_sequence = 71;
  const auto producer = Start();
  Accept(70);
  EXPECT_THAT(producer->AwaitOpen(),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "from_sequence: 71 leaves a gap in stream 'web'; accepted: at "
                       "most 70, the number of its next document"));
}

TEST_F(ProducerSessionTest, ARefusalToOpenIsFinal) {
  const auto producer = Start();
  stub_->AwaitIngestCall()->End(
      ServerError(absl::StatusCode::kNotFound, "stream 'web'", "STREAM_NOT_FOUND"));
  const auto refused = StatusIs(absl::StatusCode::kNotFound, "stream 'web'");
  EXPECT_THAT(producer->AwaitOpen(), refused);
  EXPECT_THAT(producer->Add(Documents(1)), refused);
  EXPECT_THAT(producer->TryAdd(Documents(1)), refused);
  EXPECT_THAT(producer->Flush(), refused);
  EXPECT_THAT(producer->EndOfStream(), refused);
}

TEST_F(ProducerSessionTest, ABatchHasTheDocumentsColumns) {
  const auto producer = Open(100);
  DocumentColumns documents = Documents(3);
  documents.id = {7, 8, 9};
  documents.loss_tokens = {1, 2, 3};
  documents.source = {4, 5, 6};
  EXPECT_THAT(producer->Add(documents), IsOk());
  EXPECT_EQ(producer->next_sequence(), 103U);
  const v1::DocumentBatch batch = call_->AwaitMessage().batch();
  EXPECT_EQ(batch.first_sequence(), 100U);
  EXPECT_THAT(batch.length(), ElementsAre(10, 11, 12));
  EXPECT_THAT(batch.id(), ElementsAre(7, 8, 9));
  EXPECT_THAT(batch.loss_tokens(), ElementsAre(1, 2, 3));
  EXPECT_THAT(batch.source(), ElementsAre(4, 5, 6));
}

TEST_F(ProducerSessionTest, SmallAddsArePutTogetherWhileABatchIsUnderWay) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  ExpectBatch(*call_, 0, 1);
  for (int i = 0; i < 6; ++i) EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  ExpectBatch(*call_, 1, 4);
  EXPECT_EQ(call_->messages(), 0U);
  call_->Send(Accepted(1));
  AwaitAccepted(*producer, 1);
  EXPECT_EQ(call_->messages(), 0U);
  call_->Send(Accepted(5));
  ExpectBatch(*call_, 5, 2);
}

TEST_F(ProducerSessionTest, LargeAddsAreCut) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(10)), IsOk());
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  call_->Send(Accepted(8));
  ExpectBatch(*call_, 8, 2);
}

TEST_F(ProducerSessionTest, FlushingSendsTheRestAndWaitsForItsAcceptance) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(6)), IsOk());
  ExpectBatch(*call_, 0, 4);
  std::thread flushing([&producer] { EXPECT_THAT(producer->Flush(), IsOk()); });
  ExpectBatch(*call_, 4, 2);
  call_->Send(Accepted(4));
  call_->Send(Accepted(6));
  flushing.join();
  EXPECT_EQ(producer->accepted_sequence(), 6U);
  EXPECT_THAT(producer->Flush(), IsOk());
}

TEST_F(ProducerSessionTest, AFullProducerTakesNoMore) {
  const auto producer = Open();
  EXPECT_THAT(producer->TryAdd(Documents(12)), IsOk());
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted,
                             HasSubstr("12 documents of stream 'web' wait"));
  EXPECT_THAT(producer->TryAdd(Documents(1)), full);
  EXPECT_EQ(producer->next_sequence(), 12U);
  call_->Send(Accepted(4));
  AwaitAccepted(*producer, 4);
  EXPECT_THAT(producer->TryAdd(Documents(5)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5 more")));
  EXPECT_THAT(producer->TryAdd(Documents(4)), IsOk());
  EXPECT_THAT(producer->TryAdd(Documents(13)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("documents: 13 entries is not accepted; accepted: at "
                                 "most max_unaccepted_documents, 12")));
}

TEST_F(ProducerSessionTest, AddingWaitsForRoom) {
  const auto producer = Open();
  std::thread adding(
      [&producer] { EXPECT_THAT(producer->Add(Documents(30)), IsOk()); });
  for (uint64_t first = 0; first < 28; first += 4) {
    ExpectBatch(*call_, first, 4);
    call_->Send(Accepted(first + 4));
  }
  adding.join();
  ExpectBatch(*call_, 28, 2);
  EXPECT_EQ(producer->next_sequence(), 30U);
}

TEST_F(ProducerSessionTest, ABusyTransportHoldsProducersBack) {
  options_.from_sequence = 0;
  const auto producer = Open(1000);
  call_->SetUnsent(64);
  EXPECT_THAT(producer->TryAdd(Documents(1)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
  std::thread adding([&producer] { EXPECT_THAT(producer->Add(Documents(1)), IsOk()); });
  call_->SetUnsent(63);
  adding.join();
  ExpectBatch(*call_, 0, 1);
}

TEST_F(ProducerSessionTest, ALostCallSendsAgainWhatWasNotAccepted) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(10)), IsOk());
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  call_->Send(Accepted(4));
  call_->End(kGone);
  call_ = Accept(6);
  // The server trims the two that it has of this one.
  ExpectBatch(*call_, 4, 4);
  call_->Send(Accepted(8));
  ExpectBatch(*call_, 8, 2);
  call_->Send(Accepted(10));
  EXPECT_THAT(producer->Flush(), IsOk());
}

// It may have come from another producer.
TEST_F(ProducerSessionTest, WhatWasAcceptedUnseenIsSentAgainToBeCompared) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(8)), IsOk());
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  call_->End(kGone);
  call_ = Accept(8);
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  std::thread flushing([&producer] { EXPECT_THAT(producer->Flush(), IsOk()); });
  call_->AwaitWritesDone();
  call_->End(absl::OkStatus());
  flushing.join();
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  call_ = Accept(8);
  ExpectBatch(*call_, 8, 1);
}

TEST_F(ProducerSessionTest, DocumentsAddedWithoutACallAreSentOnTheNext) {
  const auto producer = Open();
  call_->End(kGone);
  call_->AwaitGone();
  EXPECT_THAT(producer->Add(Documents(3)), IsOk());
  call_ = Accept(0);
  ExpectBatch(*call_, 0, 3);
}

TEST_F(ProducerSessionTest, EndingSaysHowManyThereWere) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(6)), IsOk());
  std::thread ending([&producer] { EXPECT_THAT(producer->EndOfStream(), IsOk()); });
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 2);
  EXPECT_EQ(call_->AwaitMessage().end_of_stream().documents(), 6U);
  call_->Send(Accepted(6));
  call_->Send(Accepted(6, true));
  ending.join();
  call_->AwaitWritesDone();
  call_->End(absl::OkStatus());
  EXPECT_THAT(producer->EndOfStream(), IsOk());
  EXPECT_THAT(producer->Flush(), IsOk());
  EXPECT_THAT(producer->Add(Documents(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "stream 'web' was ended at document 6"));
}

TEST_F(ProducerSessionTest, TheEndIsSentAgainAfterALostCall) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Documents(2)), IsOk());
  std::thread ending([&producer] { EXPECT_THAT(producer->EndOfStream(), IsOk()); });
  ExpectBatch(*call_, 0, 2);
  EXPECT_EQ(call_->AwaitMessage().end_of_stream().documents(), 2U);
  call_->End(kGone);
  call_ = Accept(2);
  ExpectBatch(*call_, 0, 2);
  EXPECT_EQ(call_->AwaitMessage().end_of_stream().documents(), 2U);
  call_->End(kGone);
  // It ended so, but with these two documents?
  call_ = Accept(2, true);
  ExpectBatch(*call_, 0, 2);
  call_->AwaitWritesDone();
  call_->End(absl::OkStatus());
  ending.join();
}

TEST_F(ProducerSessionTest, AStreamThatHadEndedSoIsAtItsEnd) {
  const auto producer = Start();
  Accept(5, true);
  EXPECT_THAT(producer->AwaitOpen(), IsOk());
  EXPECT_THAT(producer->EndOfStream(), IsOk());
}

TEST_F(ProducerSessionTest, OtherContentOfAStreamThatHadEndedIsFoundByEndingIt) {
  options_.from_sequence = 0;
  const auto producer = Start();
  call_ = Accept(4, true);
  EXPECT_THAT(producer->AwaitOpen(), IsOk());
  EXPECT_THAT(producer->Add(Documents(4)), IsOk());
  ExpectBatch(*call_, 0, 4);
  std::thread ending([&producer] {
    EXPECT_THAT(producer->EndOfStream(),
                StatusIs(absl::StatusCode::kAborted, "document 3 differs"));
  });
  call_->AwaitWritesDone();
  call_->End(kGone);
  call_ = Accept(4, true);
  ExpectBatch(*call_, 0, 4);
  call_->AwaitWritesDone();
  call_->End(kDiffers);
  ending.join();
}

TEST_F(ProducerSessionTest, ARefusalEndsCallsUnderWay) {
  const auto producer = Open();
  const absl::Status refused =
      ServerError(absl::StatusCode::kAborted, "other content", "CONTENT_DIFFERS");
  std::thread adding([&] { EXPECT_EQ(producer->Add(Documents(100)), refused); });
  ExpectBatch(*call_, 0, 4);
  std::thread flushing([&] { EXPECT_EQ(producer->Flush(), refused); });
  call_->End(refused);
  adding.join();
  flushing.join();
}

TEST_F(ProducerSessionTest, AServerThatForgotDocumentsIsFound) {
  const auto producer = Open(10);
  call_->End(kGone);
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  Accept(9);
  EXPECT_THAT(producer->Flush(),
              StatusIs(absl::StatusCode::kDataLoss,
                       "next_sequence: the server asks for document 9 of stream 'web', "
                       "but it had accepted all below 10"));
}

TEST_F(ProducerSessionTest, DocumentsThatTheServerHasAreSentToBeCompared) {
  options_.from_sequence = 2;
  const auto producer = Open(20);
  EXPECT_EQ(producer->next_sequence(), 2U);
  EXPECT_THAT(producer->Add(Documents(6)), IsOk());
  ExpectBatch(*call_, 2, 4);
  ExpectBatch(*call_, 6, 2);
  std::thread flushing([&producer] { EXPECT_THAT(producer->Flush(), IsOk()); });
  // Nothing answers them but the call's end.
  call_->AwaitWritesDone();
  EXPECT_THAT(producer->TryAdd(Documents(1)), IsOk());
  call_->End(absl::OkStatus());
  flushing.join();
  call_ = Accept(20);
  ExpectBatch(*call_, 8, 1);
  EXPECT_THAT(sleeper_->slept(), ElementsAre());
}

TEST_F(ProducerSessionTest, OtherContentUnderTheSameNumbersIsFoundByFlushing) {
  options_.from_sequence = 0;
  const auto producer = Open(20);
  EXPECT_THAT(producer->Add(Documents(4)), IsOk());
  ExpectBatch(*call_, 0, 4);
  std::thread flushing([&producer] {
    EXPECT_THAT(producer->Flush(),
                StatusIs(absl::StatusCode::kAborted, "document 3 differs"));
  });
  call_->AwaitWritesDone();
  call_->End(kDiffers);
  flushing.join();
}

TEST_F(ProducerSessionTest, WhatALostCallMayNotHaveComparedIsSentAgain) {
  options_.from_sequence = 0;
  const auto producer = Open(20);
  EXPECT_THAT(producer->Add(Documents(8)), IsOk());
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  std::thread flushing([&producer] {
    EXPECT_THAT(producer->Flush(),
                StatusIs(absl::StatusCode::kAborted, "document 3 differs"));
  });
  call_->AwaitWritesDone();
  call_->End(kGone);
  call_ = Accept(20);
  ExpectBatch(*call_, 0, 4);
  ExpectBatch(*call_, 4, 4);
  call_->AwaitWritesDone();
  call_->End(kDiffers);
  flushing.join();
}

TEST_F(ProducerSessionTest, OnlyTheLastDocumentsThatAreComparedAreSentAgain) {
  options_.from_sequence = 0;
  const auto producer = Open(10000);
  EXPECT_THAT(producer->Add(Documents(8000)), IsOk());
  for (uint64_t first = 0; first < 8000; first += 4) ExpectBatch(*call_, first, 4);
  call_->End(kGone);
  call_ = Accept(10000);
  for (uint64_t first = 3904; first < 8000; first += 4) ExpectBatch(*call_, first, 4);
  EXPECT_THAT(producer->Add(Documents(4)), IsOk());
  ExpectBatch(*call_, 8000, 4);
  std::thread flushing([&producer] { EXPECT_THAT(producer->Flush(), IsOk()); });
  call_->AwaitWritesDone();
  call_->End(absl::OkStatus());
  flushing.join();
}

// The server has compared all before it accepts what follows.
TEST_F(ProducerSessionTest, WhatWasComparedIsNotSentAgain) {
  options_.from_sequence = 0;
  const auto producer = Open(8);
  EXPECT_THAT(producer->Add(Documents(12)), IsOk());
  for (uint64_t first = 0; first < 12; first += 4) ExpectBatch(*call_, first, 4);
  call_->Send(Accepted(12));
  EXPECT_THAT(producer->Flush(), IsOk());
  call_->End(kGone);
  EXPECT_THAT(producer->Add(Documents(1)), IsOk());
  call_ = Accept(12);
  ExpectBatch(*call_, 12, 1);
}

TEST_F(ProducerSessionTest, CancellingEndsCallsUnderWay) {
  const auto producer = Open();
  const auto cancelled = StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled"));
  std::thread adding([&] { EXPECT_THAT(producer->Add(Documents(100)), cancelled); });
  ExpectBatch(*call_, 0, 4);
  producer->Cancel();
  adding.join();
  call_->AwaitGone();
  EXPECT_THAT(producer->Flush(), cancelled);
}

TEST_F(ProducerSessionTest, CanBeDestroyedAtAnyMoment) {
  Start();
  while (stub_->ingest_calls() != 0) stub_->AwaitIngestCall();
  auto producer = Start();
  const auto call = stub_->AwaitIngestCall();
  producer.reset();
  call->AwaitGone();

  producer = Open();
  EXPECT_THAT(producer->Add(Documents(3)), IsOk());
  producer.reset();
  call_->AwaitGone();

  client_options_.sleeper = Sleeper::Real();
  client_options_.backoff.initial = client_options_.backoff.maximum =
      client_options_.backoff.total = milliseconds(3'600'000);
  producer = Start();
  stub_->AwaitIngestCall()->End(kGone);
  producer.reset();
}

}  // namespace
}  // namespace evenpack::client
