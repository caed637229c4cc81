#include "server/payload/token_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/made_tokens.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MadeTokens;
using ::testing::SizeIs;
using testing::StatusIs;

// Documents of 10 tokens each.
void Put(TokenBook& book, uint32_t stream, uint64_t first, size_t documents) {
  const std::vector<uint32_t> lengths(documents, 10);
  book.Put(stream, std::make_shared<const TokenBatch>(
                       first, lengths, MadeTokens(stream, first, lengths)));
}

Document Piece(uint32_t stream, uint64_t sequence, uint32_t offset, uint32_t length) {
  Document piece;
  piece.stream = stream;
  piece.sequence = sequence;
  piece.offset = offset;
  piece.length = length;
  piece.document_length = 10;
  return piece;
}

Step StepOf(const std::vector<std::vector<Document>>& micro_batches) {
  Step step;
  for (const auto& documents : micro_batches) {
    step.micro_batches.emplace_back().documents = documents;
  }
  return step;
}

bool Has(const TokenBook& book, uint32_t stream, uint64_t sequence) {
  return book.Of(StepOf({{Piece(stream, sequence, 0, 10)}})).ok();
}

TEST(TokenBookTest, FindsPiecesOfAllStreams) {
  TokenBook book;
  Put(book, 0, 0, 4);
  Put(book, 0, 4, 1);
  Put(book, 3, 0, 2);
  EXPECT_EQ(book.bytes(), 7 * 10 * kTokenBytes);
  const std::vector<std::vector<Document>> documents = {
      {Piece(0, 4, 0, 10), Piece(3, 1, 2, 5)}, {}, {Piece(0, 0, 9, 1)}};
  const auto payload = book.Of(StepOf(documents));
  ASSERT_THAT(payload, IsOk());
  for (size_t i = 0; i < documents.size(); ++i) {
    std::string expected;
    for (const Document& piece : documents[i]) expected += MadeTokens(piece);
    EXPECT_EQ((*payload)->Whole(i), expected);
  }
}

TEST(TokenBookTest, ADocumentWithoutTokensIsNamed) {
  TokenBook book;
  Put(book, 1, 5, 2);
  for (const Document& piece :
       {Piece(0, 5, 0, 10), Piece(1, 4, 0, 10), Piece(1, 7, 0, 10)}) {
    EXPECT_THAT(book.Of(StepOf({{piece}})).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("missing")));
    EXPECT_FALSE(Has(book, piece.stream, piece.sequence));
  }
  EXPECT_TRUE(Has(book, 1, 6));
}

TEST(TokenBookTest, NamesTheFirstDocumentThatIsHeldWithOtherTokens) {
  TokenBook book;
  Put(book, 0, 4, 2);
  Put(book, 0, 6, 4);
  // Those before 4 and behind 9 aren't held.
  const std::vector<uint32_t> lengths(10, 10);
  std::string tokens = MadeTokens(0, 2, lengths);
  const auto difference_with = [&](uint64_t changed) {
    tokens[((changed - 2) * 10 + 9) * kTokenBytes + 3] ^= 1;
    return book.FirstDifference(0, 2, lengths, tokens);
  };
  EXPECT_EQ(difference_with(11), std::nullopt);
  EXPECT_EQ(difference_with(3), std::nullopt);
  EXPECT_EQ(difference_with(9), 9U);
  EXPECT_EQ(difference_with(4), 4U);
  // Of another length.
  EXPECT_EQ(book.FirstDifference(0, 5, std::vector<uint32_t>{9},
                                 MadeTokens(0, 5, std::vector<uint32_t>{9})),
            5U);
}

TEST(TokenBookTest, DropsBatchesThatNobodyNeedsAsAWhole) {
  TokenBook book;
  Put(book, 0, 0, 4);
  Put(book, 0, 4, 4);
  Put(book, 1, 0, 4);
  EXPECT_THAT(book.DropBelow(0, 3), IsEmpty());
  EXPECT_THAT(book.DropBelow(7, 3), IsEmpty());
  const auto payload = book.Of(StepOf({{Piece(0, 1, 0, 10)}})).value();
  const TokenBook::Batch first = book.From(0, 0);
  EXPECT_EQ(book.From(0, 1), nullptr);
  EXPECT_EQ(book.From(7, 0), nullptr);
  EXPECT_THAT(book.DropBelow(0, 7), ElementsAre(first));
  EXPECT_FALSE(Has(book, 0, 3));
  EXPECT_TRUE(Has(book, 0, 4));
  EXPECT_TRUE(Has(book, 1, 0));
  EXPECT_EQ(book.bytes(), 8 * 10 * kTokenBytes);
  // Who has a step keeps what it needs.
  EXPECT_EQ(payload->Whole(0), MadeTokens(0, 1, 0, 10));
  EXPECT_THAT(book.DropBelow(0, 100), SizeIs(1));
  EXPECT_THAT(book.DropBelow(0, 100), IsEmpty());
}

}  // namespace
}  // namespace evenpack
