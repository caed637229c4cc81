// A producer whose documents come with their token ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/token_ids.h"
#include "tests/client/cpp/producer_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::Accepted;
using ::evenpack::testing::FakeIngestCall;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ProducerFixture;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Documents of these lengths whose tokens are first, first + 1 and so on.
DocumentColumns Numbered(const std::vector<uint32_t>& lengths, uint32_t first = 0) {
  DocumentColumns documents;
  documents.length = lengths;
  documents.token_ids.resize(std::accumulate(lengths.begin(), lengths.end(), size_t{}));
  std::iota(documents.token_ids.begin(), documents.token_ids.end(), first);
  return documents;
}

// Messages of up to 10 tokens, 24 that are not accepted.
class ProducerTokensTest : public ProducerFixture {
 protected:
  ProducerTokensTest() {
    options_.batch_token_bytes = 10 * kTokenIdBytes;
    options_.max_unaccepted_token_bytes = 24 * kTokenIdBytes;
  }

  // The next message has documents of these lengths, and the tokens from `token` on.
  static void ExpectTokens(FakeIngestCall& call, uint64_t first, uint32_t token,
                           const std::vector<uint32_t>& lengths) {
    const v1::DocumentBatch batch = call.AwaitMessage().batch();
    EXPECT_EQ(batch.first_sequence(), first);
    EXPECT_THAT(batch.length(), ElementsAreArray(lengths));
    EXPECT_EQ(ReadTokenIds(batch.token_ids()), Numbered(lengths, token).token_ids);
  }
};

TEST_F(ProducerTokensTest, AMessageHasTheTokensOfItsDocuments) {
  const auto producer = Open(100);
  EXPECT_THAT(producer->Add(Numbered({3, 1, 2}, 70)), IsOk());
  ExpectTokens(*call_, 100, 70, {3, 1, 2});
}

TEST_F(ProducerTokensTest, AMessageEndsBeforeItWouldHaveTooManyTokens) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({4, 6, 9, 2, 1})), IsOk());
  ExpectTokens(*call_, 0, 0, {4, 6});
  ExpectTokens(*call_, 2, 10, {9});
  // What may still grow waits for the answers.
  EXPECT_EQ(call_->messages(), 0U);
  call_->Send(Accepted(3));
  ExpectTokens(*call_, 3, 19, {2, 1});
}

TEST_F(ProducerTokensTest, AMessageOfManyShortDocumentsEndsAtTheirNumber) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({1, 1, 1, 1, 1})), IsOk());
  ExpectTokens(*call_, 0, 0, {1, 1, 1, 1});
  call_->Send(Accepted(4));
  ExpectTokens(*call_, 4, 4, {1});
}

TEST_F(ProducerTokensTest, ALongerDocumentGoesAlone) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({2, 11, 2})), IsOk());
  ExpectTokens(*call_, 0, 0, {2});
  ExpectTokens(*call_, 1, 2, {11});
  call_->Send(Accepted(2));
  ExpectTokens(*call_, 2, 13, {2});
}

TEST_F(ProducerTokensTest, SmallAddsArePutTogetherWithTheirTokens) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({1})), IsOk());
  ExpectTokens(*call_, 0, 0, {1});
  EXPECT_THAT(producer->Add(Numbered({3}, 1)), IsOk());
  EXPECT_THAT(producer->Add(Numbered({5}, 4)), IsOk());
  EXPECT_EQ(call_->messages(), 0U);
  EXPECT_THAT(producer->Add(Numbered({4}, 9)), IsOk());
  ExpectTokens(*call_, 1, 1, {3, 5});
  call_->Send(Accepted(3));
  ExpectTokens(*call_, 3, 9, {4});
}

TEST_F(ProducerTokensTest, AMessageThatIsFullOfTokensIsSentAtOnce) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({1})), IsOk());
  ExpectTokens(*call_, 0, 0, {1});
  EXPECT_THAT(producer->Add(Numbered({3, 7}, 1)), IsOk());
  ExpectTokens(*call_, 1, 1, {3, 7});
}

// Of those that nothing answers but the call's end no more than that are kept either.
TEST_F(ProducerTokensTest, WhatTheServerHadIsAnsweredBeforeTooManyTokensAreKept) {
  options_.from_sequence = 0;
  const auto producer = Open(20);
  EXPECT_THAT(producer->Add(Numbered({8, 8, 8, 8})), IsOk());
  for (const uint32_t i : {0U, 1U, 2U}) ExpectTokens(*call_, i, 8 * i, {8});
  call_->AwaitWritesDone();
  EXPECT_EQ(call_->messages(), 0U);
  call_->End(kGone);
  call_ = Accept(20);
  for (const uint32_t i : {0U, 1U, 2U}) ExpectTokens(*call_, i, 8 * i, {8});
  call_->AwaitWritesDone();
  call_->End(absl::OkStatus());
  call_ = Accept(20);
  ExpectTokens(*call_, 3, 24, {8});
}

TEST_F(ProducerTokensTest, DocumentsWithAndWithoutTokensAreTheServersToRefuse) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({1})), IsOk());
  ExpectTokens(*call_, 0, 0, {1});
  DocumentColumns plain;
  plain.length = {100};
  EXPECT_THAT(producer->Add(plain), IsOk());
  EXPECT_THAT(producer->Add(Numbered({2}, 5)), IsOk());
  call_->Send(Accepted(1));
  const v1::DocumentBatch batch = call_->AwaitMessage().batch();
  EXPECT_THAT(batch.length(), ElementsAre(100, 2));
  EXPECT_THAT(ReadTokenIds(batch.token_ids()), ElementsAre(5, 6));
}

TEST_F(ProducerTokensTest, TokensWithoutTheirDocumentsAreRefused) {
  const auto producer = Open();
  DocumentColumns documents = Numbered({2, 3});
  documents.token_ids.pop_back();
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_ids: 4 entries"));
  EXPECT_THAT(producer->Add(documents), refused);
  EXPECT_THAT(producer->TryAdd(documents), refused);
  EXPECT_EQ(producer->next_sequence(), 0U);
}

TEST_F(ProducerTokensTest, AProducerThatIsFullOfTokensTakesNoMore) {
  const auto producer = Open();
  EXPECT_THAT(producer->TryAdd(Numbered({10, 10})), IsOk());
  EXPECT_THAT(
      producer->TryAdd(Numbered({5}, 20)),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "2 documents of stream 'web' wait to be accepted, with 80 bytes of "
               "token ids; 1 more don't fit now"));
  EXPECT_THAT(producer->TryAdd(Numbered({4}, 20)), IsOk());
  EXPECT_THAT(producer->TryAdd(Numbered({1}, 24)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("96 bytes")));
  call_->Send(Accepted(1));
  AwaitAccepted(*producer, 1);
  EXPECT_THAT(producer->TryAdd(Numbered({10}, 24)), IsOk());
  EXPECT_EQ(producer->next_sequence(), 4U);
}

TEST_F(ProducerTokensTest, WhatCanNeverBeTakenAtOnceIsRefused) {
  const auto producer = Open();
  EXPECT_THAT(producer->TryAdd(Numbered({20, 5})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("token_ids: 100 bytes is not accepted; accepted: at "
                                 "most max_unaccepted_token_bytes, 96, of more than "
                                 "one document")));
  EXPECT_THAT(producer->TryAdd(Numbered({20, 4})), IsOk());
}

TEST_F(ProducerTokensTest, OneDocumentFitsWhereNothingIsUnaccepted) {
  const auto producer = Open();
  EXPECT_THAT(producer->TryAdd(Numbered({1})), IsOk());
  const DocumentColumns huge = Numbered({1000}, 1);
  EXPECT_THAT(producer->TryAdd(huge),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 more")));
  ExpectTokens(*call_, 0, 0, {1});
  call_->Send(Accepted(1));
  AwaitAccepted(*producer, 1);
  EXPECT_THAT(producer->TryAdd(huge), IsOk());
  ExpectTokens(*call_, 1, 1, {1000});
  EXPECT_THAT(producer->TryAdd(Numbered({1}, 1001)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4000 bytes")));
}

TEST_F(ProducerTokensTest, AddingWaitsForRoomForTokens) {
  const auto producer = Open();
  std::thread adding([&producer] {
    EXPECT_THAT(producer->Add(Numbered({10, 10, 30, 10, 7})), IsOk());
  });
  ExpectTokens(*call_, 0, 0, {10});
  ExpectTokens(*call_, 1, 10, {10});
  call_->Send(Accepted(1));
  AwaitAccepted(*producer, 1);
  // Ten tokens are unaccepted; thirty more fit only where there are none.
  EXPECT_EQ(producer->next_sequence(), 2U);
  call_->Send(Accepted(2));
  ExpectTokens(*call_, 2, 20, {30});
  EXPECT_EQ(producer->next_sequence(), 3U);
  call_->Send(Accepted(3));
  adding.join();
  ExpectTokens(*call_, 3, 50, {10});
  call_->Send(Accepted(4));
  ExpectTokens(*call_, 4, 60, {7});
}

TEST_F(ProducerTokensTest, ALostCallSendsTokensAgain) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(Numbered({6, 4, 8})), IsOk());
  ExpectTokens(*call_, 0, 0, {6, 4});
  call_->End(kGone);
  call_ = Accept(1);
  ExpectTokens(*call_, 0, 0, {6, 4});
  call_->Send(Accepted(2));
  ExpectTokens(*call_, 2, 10, {8});
  call_->Send(Accepted(3));
  EXPECT_THAT(producer->Flush(), IsOk());
  // All its tokens are accepted: as many fit as at first.
  EXPECT_THAT(producer->TryAdd(Numbered({20, 4}, 18)), IsOk());
}

TEST_F(ProducerTokensTest, LongMessagesThatWaitForTheTransportAreFewer) {
  options_.from_sequence = 0;
  const auto producer = Open(1000);
  // 24 tokens of messages of at most 10 are two messages, or one of a longer document.
  call_->SetUnsent(2);
  EXPECT_THAT(producer->TryAdd(Numbered({1})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
  call_->SetUnsent(1);
  EXPECT_THAT(producer->TryAdd(Numbered({13})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
  EXPECT_THAT(producer->TryAdd(Numbered({1})), IsOk());
  call_->SetUnsent(63);
  DocumentColumns plain;
  plain.length = {13};
  EXPECT_THAT(producer->TryAdd(plain), IsOk());
  std::thread adding(
      [&producer] { EXPECT_THAT(producer->Add(Numbered({13})), IsOk()); });
  call_->SetUnsent(0);
  adding.join();
}

// Documents of these lengths in a file, each behind the one before.
DocumentColumns InFile(const std::vector<uint32_t>& lengths, const std::string& path,
                       uint64_t offset = 0) {
  DocumentColumns documents;
  documents.length = lengths;
  documents.token_file = {.path = path, .token_bytes = 2, .offset = {}};
  for (const uint32_t length : lengths) {
    documents.token_file.offset.push_back(offset);
    offset += uint64_t{length} * 2;
  }
  return documents;
}

// The next message has documents of these lengths, and their places in a file.
void ExpectPlaces(FakeIngestCall& call, uint64_t first,
                  const DocumentColumns& documents) {
  const v1::DocumentBatch batch = call.AwaitMessage().batch();
  EXPECT_EQ(batch.first_sequence(), first);
  EXPECT_THAT(batch.length(), ElementsAreArray(documents.length));
  EXPECT_EQ(batch.token_ids(), "");
  const bool in_file = !documents.token_file.offset.empty();
  EXPECT_EQ(batch.has_token_file(), in_file);
  EXPECT_EQ(batch.token_file().path(), documents.token_file.path);
  EXPECT_EQ(batch.token_file().token_bytes(), in_file ? 2U : 0U);
  EXPECT_THAT(batch.token_file().offset(),
              ElementsAreArray(documents.token_file.offset));
}

TEST_F(ProducerTokensTest, TokensInAFileDoNotCountAsBytes) {
  const auto producer = Open(50);
  EXPECT_THAT(producer->TryAdd(InFile({1000, 2000, 3000, 4000, 5}, "/web.bin")),
              IsOk());
  ExpectPlaces(*call_, 50, InFile({1000, 2000, 3000, 4000}, "/web.bin"));
  call_->Send(Accepted(54));
  ExpectPlaces(*call_, 54, InFile({5}, "/web.bin", 20'000));
}

TEST_F(ProducerTokensTest, AMessageHasDocumentsOfOneFile) {
  const auto producer = Open();
  DocumentColumns plain;
  plain.length = {6};
  EXPECT_THAT(producer->Add(InFile({1, 2}, "/web.bin")), IsOk());
  ExpectPlaces(*call_, 0, InFile({1, 2}, "/web.bin"));
  EXPECT_THAT(producer->Add(InFile({3}, "/web.bin", 6)), IsOk());
  EXPECT_THAT(producer->Add(InFile({4}, "/web.bin", 12)), IsOk());
  EXPECT_EQ(call_->messages(), 0U);
  EXPECT_THAT(producer->Add(InFile({5}, "/code.bin")), IsOk());
  ExpectPlaces(*call_, 2, InFile({3, 4}, "/web.bin", 6));
  EXPECT_THAT(producer->Add(plain), IsOk());
  ExpectPlaces(*call_, 4, InFile({5}, "/code.bin"));
  EXPECT_THAT(producer->Add(InFile({7}, "/code.bin")), IsOk());
  ExpectPlaces(*call_, 5, plain);
  EXPECT_THAT(producer->Add(Numbered({2})), IsOk());
  ExpectPlaces(*call_, 6, InFile({7}, "/code.bin"));
  call_->Send(Accepted(7));
  ExpectTokens(*call_, 7, 0, {2});
}

TEST_F(ProducerTokensTest, AMessageIsNoMoreThanIsReadTogether) {
  const auto producer = Open();
  const auto half = static_cast<uint32_t>(kMaxTokensToRead / 2);
  EXPECT_THAT(producer->Add(InFile({half, half, 1, 3 * half, 1}, "/web.bin")), IsOk());
  ExpectPlaces(*call_, 0, InFile({half, half}, "/web.bin"));
  const uint64_t behind = 4 * uint64_t{half};
  ExpectPlaces(*call_, 2, InFile({1}, "/web.bin", behind));
  ExpectPlaces(*call_, 3, InFile({3 * half}, "/web.bin", behind + 2));
  call_->Send(Accepted(4));
  ExpectPlaces(*call_, 4, InFile({1}, "/web.bin", behind + 2 + 6 * uint64_t{half}));
}

TEST_F(ProducerTokensTest, ALostCallSendsPlacesAgain) {
  const auto producer = Open();
  EXPECT_THAT(producer->Add(InFile({6, 4}, "/web.bin")), IsOk());
  ExpectPlaces(*call_, 0, InFile({6, 4}, "/web.bin"));
  call_->End(kGone);
  call_ = Accept(0);
  ExpectPlaces(*call_, 0, InFile({6, 4}, "/web.bin"));
  call_->Send(Accepted(2));
  EXPECT_THAT(producer->Flush(), IsOk());
}

TEST_F(ProducerTokensTest, AFileThatCannotBeReadIsRefused) {
  const auto producer = Open();
  const DocumentColumns documents = InFile({6, 4}, "web.bin");
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_file.path: 'web"));
  EXPECT_THAT(producer->Add(documents), refused);
  EXPECT_THAT(producer->TryAdd(documents), refused);
  EXPECT_EQ(producer->next_sequence(), 0U);
}

}  // namespace
}  // namespace evenpack::client
