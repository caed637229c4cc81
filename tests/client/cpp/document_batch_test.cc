#include "client/cpp/document_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/token_ids.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DocumentBatch, TakesTheRangeOfEveryColumn) {
  DocumentColumns documents;
  documents.length = {10, 11, 12, 13};
  documents.id = {20, 21, 22, 23};
  documents.loss_tokens = {0, 1, 2, 3};
  documents.source = {30, 31, 32, 33};
  v1::DocumentBatch batch;
  AppendDocuments(documents, 1, 2, batch);
  EXPECT_THAT(batch.length(), ElementsAre(11, 12));
  EXPECT_THAT(batch.id(), ElementsAre(21, 22));
  EXPECT_THAT(batch.loss_tokens(), ElementsAre(1, 2));
  EXPECT_THAT(batch.source(), ElementsAre(31, 32));
}

TEST(DocumentBatch, ColumnsThatAllLeaveOutStayOut) {
  DocumentColumns documents;
  documents.length = {10, 11};
  v1::DocumentBatch batch;
  AppendDocuments(documents, 0, 2, batch);
  AppendDocuments(documents, 0, 1, batch);
  EXPECT_THAT(batch.length(), ElementsAre(10, 11, 10));
  EXPECT_THAT(batch.id(), IsEmpty());
  EXPECT_THAT(batch.loss_tokens(), IsEmpty());
  EXPECT_THAT(batch.source(), IsEmpty());
}

TEST(DocumentBatch, AColumnLeftOutOnOneSideGetsWhatItStoodFor) {
  DocumentColumns plain;
  plain.length = {10, 11};
  DocumentColumns labelled;
  labelled.length = {12};
  labelled.id = {5};
  labelled.loss_tokens = {6};
  labelled.source = {7};
  v1::DocumentBatch batch;
  batch.set_first_sequence(100);
  AppendDocuments(plain, 0, 2, batch);
  AppendDocuments(labelled, 0, 1, batch);
  AppendDocuments(plain, 1, 1, batch);
  EXPECT_THAT(batch.length(), ElementsAre(10, 11, 12, 11));
  EXPECT_THAT(batch.id(), ElementsAre(100, 101, 5, 103));
  EXPECT_THAT(batch.loss_tokens(), ElementsAre(10, 11, 6, 11));
  EXPECT_THAT(batch.source(), ElementsAre(0, 0, 7, 0));
}

DocumentColumns WithTokens() {
  DocumentColumns documents;
  documents.length = {2, 1, 3};
  documents.token_ids = {10, 11, 20, 30, 31, 32};
  return documents;
}

TEST(DocumentBatch, TakesTheTokensOfTheDocumentsInTheirOrder) {
  const DocumentColumns documents = WithTokens();
  v1::DocumentBatch batch;
  DocumentPlace place;
  AppendTokens(documents, 1, place, batch);
  EXPECT_THAT(ReadTokenIds(batch.token_ids()), ElementsAre(10, 11));
  EXPECT_EQ(place.document, 1U);
  EXPECT_EQ(place.token, 2U);
  AppendTokens(documents, 2, place, batch);
  EXPECT_THAT(ReadTokenIds(batch.token_ids()), ElementsAre(10, 11, 20, 30, 31, 32));
  EXPECT_EQ(place.document, 3U);
  EXPECT_EQ(place.token, 6U);

  place = {.document = 1, .token = 2};
  batch.Clear();
  AppendTokens(documents, 1, place, batch);
  EXPECT_THAT(ReadTokenIds(batch.token_ids()), ElementsAre(20));
}

TEST(DocumentBatch, TokensThatWereLeftOutAreNotFilledUp) {
  DocumentColumns plain;
  plain.length = {4, 5};
  v1::DocumentBatch batch;
  DocumentPlace place;
  AppendTokens(plain, 2, place, batch);
  EXPECT_EQ(place.document, 2U);
  EXPECT_EQ(place.token, 0U);
  EXPECT_EQ(batch.token_ids(), "");
  DocumentPlace other;
  AppendTokens(WithTokens(), 1, other, batch);
  EXPECT_EQ(batch.token_ids().size(), 2 * kTokenIdBytes);
}

TEST(DocumentBatch, CountsTheDocumentsWhoseTokensFit) {
  const DocumentColumns documents = WithTokens();
  EXPECT_EQ(CountWithin(documents, 0, 3, 24), 3U);
  EXPECT_EQ(CountWithin(documents, 0, 3, 23), 2U);
  EXPECT_EQ(CountWithin(documents, 0, 1, 24), 1U);
  EXPECT_EQ(CountWithin(documents, 0, 3, 7), 0U);
  EXPECT_EQ(CountWithin(documents, 1, 2, 15), 1U);
  EXPECT_EQ(CountWithin(documents, 1, 2, 16), 2U);
  EXPECT_EQ(CountWithin(documents, 1, 0, 16), 0U);
  DocumentColumns plain;
  plain.length = {1000, 1000};
  EXPECT_EQ(CountWithin(plain, 0, 2, 4), 2U);
}

DocumentColumns InFile() {
  DocumentColumns documents;
  documents.length = {2, 1, 3};
  documents.token_file = {.path = "/web.bin", .token_bytes = 2, .offset = {40, 0, 8}};
  return documents;
}

TEST(DocumentBatch, TakesThePlacesOfTheDocumentsInTheirOrder) {
  const DocumentColumns documents = InFile();
  v1::DocumentBatch batch;
  DocumentPlace place{.document = 1};
  AppendTokens(documents, 2, place, batch);
  EXPECT_EQ(place.document, 3U);
  EXPECT_EQ(place.token, 0U);
  EXPECT_EQ(batch.token_file().path(), "/web.bin");
  EXPECT_EQ(batch.token_file().token_bytes(), 2U);
  EXPECT_THAT(batch.token_file().offset(), ElementsAre(0, 8));
  EXPECT_EQ(batch.token_ids(), "");
  place.document = 0;
  AppendTokens(documents, 1, place, batch);
  EXPECT_THAT(batch.token_file().offset(), ElementsAre(0, 8, 40));
}

TEST(DocumentBatch, DocumentsFollowThoseOfTheSameFileOrOfNone) {
  const DocumentColumns documents = InFile();
  DocumentColumns wide = InFile();
  wide.token_file.token_bytes = 4;
  DocumentColumns elsewhere = InFile();
  elsewhere.token_file.path = "/code.bin";
  const DocumentColumns given = WithTokens();
  const auto fit = [](const DocumentColumns& first, const DocumentColumns& next) {
    v1::DocumentBatch batch;
    EXPECT_TRUE(FitTokenFile(first, batch));
    DocumentPlace place;
    AppendDocuments(first, 0, 1, batch);
    AppendTokens(first, 1, place, batch);
    return FitTokenFile(next, batch);
  };
  EXPECT_TRUE(fit(documents, documents));
  EXPECT_TRUE(fit(given, given));
  EXPECT_FALSE(fit(documents, wide));
  EXPECT_FALSE(fit(documents, elsewhere));
  EXPECT_FALSE(fit(documents, given));
  EXPECT_FALSE(fit(given, documents));
}

TEST(DocumentBatch, CountsTheDocumentsThatAreReadTogether) {
  const DocumentColumns documents = InFile();
  EXPECT_EQ(CountReadWithin(documents, 0, 3, 6), 3U);
  EXPECT_EQ(CountReadWithin(documents, 0, 3, 5), 2U);
  EXPECT_EQ(CountReadWithin(documents, 1, 2, 3), 1U);
  EXPECT_EQ(CountReadWithin(documents, 2, 1, 2), 0U);
  EXPECT_EQ(TokensToRead(documents, 0, 3), 6U);
  EXPECT_EQ(TokensToRead(documents, 1, 1), 1U);
  EXPECT_EQ(CountWithin(documents, 0, 3, 4), 3U);
  EXPECT_EQ(CountReadWithin(WithTokens(), 0, 3, 1), 3U);
  EXPECT_EQ(TokensToRead(WithTokens(), 0, 3), 0U);
}

}  // namespace
}  // namespace evenpack::client
