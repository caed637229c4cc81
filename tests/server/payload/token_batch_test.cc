#include "server/payload/token_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto again = TokenBatch::FromBytes(7, batch.Bytes());
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
  ++other_length[8];
  for (const std::string& wrong :
       {std::string(), one_more, other_length, bytes.substr(0, bytes.size() - 1)}) {
    EXPECT_THAT(TokenBatch::FromBytes(7, wrong).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("document 7")));
  }
}

}  // namespace
}  // namespace evenpack
