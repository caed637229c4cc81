#include "gpu_worker/communicator/exchange_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ExchangeTerms kMine = {
    .form = 9, .tensors = 2, .row_bytes = 128, .sent = 3, .received = 5};
constexpr ExchangeTerms kTheirs = {
    .form = 9, .tensors = 2, .row_bytes = 128, .sent = 5, .received = 3};

TEST(ExchangeTermsTest, AreThoseOfTheRowsBetweenTwoRanks) {
  Exchange exchange;
  exchange.tensors.resize(2);
  exchange.row_bytes = 128;
  exchange.form = 9;
  const std::vector<std::vector<RowRange>> send = {{}, {{0, 2}, {7, 1}}, {}};
  const std::vector<std::vector<RowRange>> receive = {{}, {{0, 5}}, {}};
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  const ExchangeTerms terms = TermsWith(1, exchange);
  EXPECT_THAT(CheckTerms(0, terms, 1, kTheirs), IsOk());
  EXPECT_TRUE(terms.has_rows());
  EXPECT_EQ(terms.sent, 3U);
  EXPECT_EQ(terms.received, 5U);
  EXPECT_FALSE(TermsWith(2, exchange).has_rows());
}

TEST(ExchangeTermsTest, RowsThatAreNotWhatThePeerExpectsAreRefused) {
  const auto refused = [](ExchangeTerms theirs) {
    return CheckTerms(0, kMine, 1, theirs);
  };
  ExchangeTerms theirs = kTheirs;
  theirs.row_bytes = 64;
  EXPECT_THAT(
      refused(theirs),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          AllOf(HasSubstr("cp_rank 1 sends 5 rows and expects 3, of 64 bytes in each "
                          "of 2 tensors; cp_rank 0 expects 5 rows and sends 3, of 128 "
                          "bytes in each of 2 tensors; accepted: "),
                HasSubstr("with the same element type, heads, scale, "
                          "sliding_window and head_groups"))));
  theirs = kTheirs;
  theirs.sent = 4;
  EXPECT_THAT(refused(theirs), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("cp_rank 1 sends 4 rows")));
  theirs = kTheirs;
  theirs.received = 4;
  EXPECT_THAT(refused(theirs), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("rows and expects 4, of 128")));
  theirs = kTheirs;
  theirs.tensors = 1;
  EXPECT_THAT(refused(theirs), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("in each of 1 tensors")));
  theirs = kTheirs;
  theirs.form = 8;
  EXPECT_THAT(refused(theirs),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "cp_rank 1 is in another pass than cp_rank 0: forward or "
                       "backward, micro-batch, plan, element type, heads, scale or "
                       "sliding_window differ; accepted: the same passes in the same "
                       "order on all ranks of the group, with the same element type, "
                       "heads, scale, sliding_window and head_groups"));
}

TEST(ExchangeTermsTest, ARankThatLeftAnExchangeOutIsToldSo) {
  ExchangeTerms theirs = kTheirs;
  theirs.number = 4;
  EXPECT_THAT(CheckTerms(0, kMine, 1, theirs),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cp_rank 1 has begun 4 exchanges before this one, and "
                                 "cp_rank 0 0; accepted: the same passes")));
}

TEST(ExchangeTermsTest, RowsOfAnotherStepAreRefusedByTheSteps) {
  ExchangeTerms mine = kMine;
  ExchangeTerms theirs = kTheirs;
  mine.step = 7;
  theirs.step = 8;
  theirs.sent = 4;
  EXPECT_THAT(CheckTerms(0, mine, 1, theirs),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "cp_rank 1 is at step 8, and cp_rank 0 at step 7; accepted: all "
                       "ranks of the group at one step"));
  Exchange exchange;
  exchange.step = 7;
  const std::vector<std::vector<RowRange>> none(2);
  exchange.send_rows = &none;
  exchange.receive_rows = &none;
  EXPECT_EQ(TermsWith(1, exchange).step, 7U);
}

}  // namespace
}  // namespace evenpack::worker
