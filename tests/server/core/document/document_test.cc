#include "server/core/document/document.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(LengthsOfTest, AreThoseOfThePiecesInOrder) {
  std::vector<Document> documents = testing::MakeDocuments({7, 100, 3});
  documents[1] = CutFront(documents[1], 30);
  EXPECT_EQ(LengthsOf(documents), (std::vector<uint32_t>{7, 30, 3}));
  EXPECT_EQ(LengthsOf({}), std::vector<uint32_t>());
}

TEST(CutFrontTest, PiecesCarryTheirOffsetAndShareTheIdentity) {
  Document rest = testing::MakeDocuments({7, 100})[1];
  const Document front = CutFront(rest, 30);
  EXPECT_EQ(front.offset, 0U);
  EXPECT_EQ(front.length, 30U);
  EXPECT_EQ(rest.offset, 30U);
  EXPECT_EQ(rest.length, 70U);
  for (const Document& piece : {front, rest}) {
    EXPECT_EQ(piece.sequence, 1U);
    EXPECT_EQ(piece.document_length, 100U);
  }
  EXPECT_FALSE(EndsDocument(front));
  EXPECT_TRUE(EndsDocument(rest));
}

TEST(CutFrontTest, NoLossTokenIsLostHoweverOftenItIsCut) {
  for (const uint32_t loss : {0U, 1U, 13U, 99U, 100U}) {
    Document rest = testing::MakeDocuments({100})[0];
    rest.loss_tokens = loss;
    uint64_t sum = 0;
    for (const uint32_t cut : {33U, 1U, 40U}) {
      const Document front = CutFront(rest, cut);
      EXPECT_LE(front.loss_tokens, front.length);
      sum += front.loss_tokens;
    }
    EXPECT_LE(rest.loss_tokens, rest.length);
    EXPECT_EQ(sum + rest.loss_tokens, loss);
  }
}

TEST(CutFrontTest, TheLongestDocumentCanBeCut) {
  Document rest = testing::MakeDocuments({kMaxDocumentLength})[0];
  const Document front = CutFront(rest, kMaxDocumentLength - 1);
  EXPECT_EQ(front.loss_tokens, kMaxDocumentLength - 1);
  EXPECT_EQ(rest.loss_tokens, 1U);
  EXPECT_TRUE(EndsDocument(rest));
}

TEST(IsPieceTest, NumbersAreInTheirRangesAndAgree) {
  const Document whole = {.length = 8, .document_length = 8, .loss_tokens = 8};
  EXPECT_TRUE(IsPiece(whole));
  Document rest = whole;
  EXPECT_TRUE(IsPiece(CutFront(rest, 3)));
  EXPECT_TRUE(IsPiece(rest));
  const struct {
    uint32_t length, offset, document_length, loss_tokens;
  } bad[] = {
      {0, 0, 8, 0}, {9, 0, 8, 0}, {4, 5, 8, 0}, {4, 4, 8, 5}, {1, 0, 2147483648U, 0},
  };
  for (const auto& numbers : bad) {
    EXPECT_FALSE(IsPiece({.length = numbers.length,
                          .offset = numbers.offset,
                          .document_length = numbers.document_length,
                          .loss_tokens = numbers.loss_tokens}));
  }
}

TEST(IsOlderTest, ByAdmissionThenByOffset) {
  Document rest = testing::MakeDocuments({10, 20})[0];
  const Document later = testing::MakeDocuments({10, 20})[1];
  const Document front = CutFront(rest, 4);
  EXPECT_TRUE(IsOlder(front, rest));
  EXPECT_FALSE(IsOlder(rest, front));
  EXPECT_TRUE(IsOlder(rest, later));
  EXPECT_FALSE(IsOlder(rest, rest));
}

}  // namespace
}  // namespace evenpack
