#include "server/core/packing/trim.h"

#include <gtest/gtest.h>

#include "server/core/packing/assignment.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

// W(d) = d^2 / 10^9 + d, 1,000 ns a token: by tokens, in effect.
WorkloadTable ByTokens() { return testing::QuadraticWorkload(1'000'000'000, 1000); }

struct TrimCase {
  std::string name;
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> bins;
  TrimTerms terms;
  std::vector<uint32_t> trimmed;
};

TrimTerms Terms(int64_t token_ps, uint64_t least_tokens, size_t kept) {
  TrimTerms terms;
  terms.micro_batches = 3;
  terms.capacity = {.tokens = 1000};
  terms.least_tokens = least_tokens;
  terms.price.token_ps = token_ps;
  terms.kept = kept;
  return terms;
}

TEST(TrimTest, GivesUpWhatOthersWaitFor) {
  constexpr uint32_t kOut = kLeftOver;
  // 13 alike in three: one bin has a fifth, for which the other two wait.
  const std::vector<uint32_t> alike(13, 50);
  const std::vector<uint32_t> dealt = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
  std::vector<uint32_t> trimmed = dealt;
  trimmed[12] = kOut;
  const std::vector<TrimCase> cases = {
      {"one more than the others have", alike, dealt, Terms(100, 0, 0), trimmed},
      // Two bins save 50,000 ns each; the price of the delay is 50 times its ps.
      {"at a price below what is saved", alike, dealt, Terms(1'900'000, 0, 0), trimmed},
      {"not at one above", alike, dealt, Terms(2'100'000, 0, 0), dealt},
      {"not below the least tokens", alike, dealt, Terms(100, 601, 0), dealt},
      {"not what is due", alike, dealt, Terms(100, 0, 13), dealt},
      {"not the only document of a bin",
       {90, 10, 10},
       {0, 1, 2},
       Terms(100, 0, 0),
       {0, 1, 2}},
      {"not one of all bins alike",
       {50, 50, 50, 50, 50, 50},
       {0, 1, 2, 0, 1, 2},
       Terms(100, 0, 0),
       {0, 1, 2, 0, 1, 2}},
  };
  for (const TrimCase& test : cases) {
    SCOPED_TRACE(test.name);
    const std::vector<Document> documents = testing::MakeDocuments(test.lengths);
    std::vector<uint32_t> bins = test.bins;
    Trim(PointTo(documents), test.terms, ByTokens(), bins);
    EXPECT_EQ(bins, test.trimmed);
  }
}

TEST(TrimTest, SeveralBinsGiveUpTogetherWhereOneAloneWouldSaveNothing) {
  // Two of three have a third document.
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(8, 50));
  std::vector<uint32_t> bins = {0, 1, 2, 0, 1, 2, 0, 1};
  // What the third bin no longer waits is 50,000 ns; two documents go at 20 a token.
  Trim(PointTo(documents), Terms(200'000, 0, 0), ByTokens(), bins);
  EXPECT_EQ(bins, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, kLeftOver, kLeftOver}));
}

}  // namespace
}  // namespace evenpack
