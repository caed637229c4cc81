#include "client/cpp/document_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace evenpack::client
