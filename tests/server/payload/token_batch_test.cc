#include "server/payload/token_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/testing/made_tokens.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MadeTokens;
using testing::StatusIs;

const std::vector<uint32_t> kLengths = {3, 1, 300};

// Where there is no file.
absl::StatusOr<std::string> ReadNone(const TokenFile&, std::span<const uint32_t>) {
  return absl::InternalError("nothing is to be read");
}

TokenBatch MadeBatch() { return {7, kLengths, MadeTokens(2, 7, kLengths)}; }

TEST(TokenBatchTest, HasTheTokensOfEachDocument) {
  const TokenBatch batch = MadeBatch();
  EXPECT_EQ(batch.first_sequence(), 7U);
  EXPECT_EQ(batch.end_sequence(), 10U);
  EXPECT_EQ(batch.size(), 304 * kTokenBytes);
  for (uint32_t i = 0; i < kLengths.size(); ++i) {
    EXPECT_EQ(batch.TokensOf(7 + i), MadeTokens(2, 7 + i, 0, kLengths[i]));
  }
}

TEST(TokenBatchTest, IsTheSameFromItsBytes) {
  const TokenBatch batch = MadeBatch();
  const auto again = TokenBatch::FromBytes(7, batch.Bytes(), ReadNone);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->end_sequence(), 10U);
  EXPECT_EQ(again->Bytes(), batch.Bytes());
  EXPECT_EQ(again->TokensOf(9), batch.TokensOf(9));
}

TEST(TokenBatchTest, OtherBytesAreDataLoss) {
  const std::string bytes = MadeBatch().Bytes();
  std::string one_more = bytes;
  one_more.push_back('x');
  std::string other_length = bytes;
  ++other_length[9];
  for (const std::string& wrong :
       {std::string(), one_more, other_length, bytes.substr(0, bytes.size() - 1)}) {
    EXPECT_THAT(TokenBatch::FromBytes(7, wrong, ReadNone).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("document 7")));
  }
}

TEST(TokenBatchTest, TokensInAFileAreReadAgainRatherThanKept) {
  const TokenFile file = {"/tokens.bin", 2, {40, 0, 8}};
  const std::string tokens = MadeTokens(2, 7, kLengths);
  const TokenBatch batch(7, kLengths, tokens, file);
  const std::string bytes = batch.Bytes();
  EXPECT_LT(bytes.size(), 150U);
  std::string found = tokens;
  const auto read =
      [&](const TokenFile& named,
          std::span<const uint32_t> lengths) -> absl::StatusOr<std::string> {
    EXPECT_EQ(named, file);
    EXPECT_TRUE(std::ranges::equal(lengths, kLengths));
    return found;
  };
  const auto again = TokenBatch::FromBytes(7, bytes, read);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->TokensOf(9), batch.TokensOf(9));
  EXPECT_EQ(again->Bytes(), bytes);
  found[100] = 'x';
  EXPECT_THAT(
      TokenBatch::FromBytes(7, bytes, read).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'/tokens.bin' has changed")));
  const auto find_less = [](const TokenFile&, std::span<const uint32_t>) {
    return absl::StatusOr<std::string>(
        absl::InvalidArgumentError("token_file.offset[0]: 40 is not accepted"));
  };
  EXPECT_THAT(TokenBatch::FromBytes(7, bytes, find_less).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("has changed: token_file.offset[0]: 40")));
  EXPECT_THAT(TokenBatch::FromBytes(7, bytes, ReadNone).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nothing")));
}

}  // namespace
}  // namespace evenpack
