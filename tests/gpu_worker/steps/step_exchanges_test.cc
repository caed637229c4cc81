#include "gpu_worker/steps/step_exchanges.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

// A row from each rank to the other.
class Rows {
 public:
  explicit Rows(uint32_t rank) : send_(2), receive_(2) {
    send_[1 - rank] = {{0, 1}};
    receive_[1 - rank] = {{0, 1}};
  }
  Exchange exchange() {
    Exchange exchange;
    exchange.tensors = {{&sent_, sizeof(sent_), &received_, sizeof(received_)}};
    exchange.row_bytes = sizeof(sent_);
    exchange.send_rows = &send_;
    exchange.receive_rows = &receive_;
    return exchange;
  }

 private:
  int sent_ = 0;
  int received_ = 0;
  std::vector<std::vector<RowRange>> send_;
  std::vector<std::vector<RowRange>> receive_;
};

// Of rank 1, where rank 0 is at step 7.
absl::Status ExchangedAt(uint64_t step) {
  LocalGroup group(2);
  StepExchanges first(group.OfRank(0));
  StepExchanges second(group.OfRank(1));
  first.SetStep(7);
  second.SetStep(step);
  Rows of_first(0);
  Rows of_second(1);
  const auto begun = first.Start(of_first.exchange());
  return second.Start(of_second.exchange())->Wait();
}

TEST(StepExchangesTest, SayWhichStepTheyAreOf) {
  EXPECT_THAT(ExchangedAt(7), IsOk());
  EXPECT_THAT(ExchangedAt(8),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("at step 8")));
}

TEST(StepExchangesTest, AreOneNumberOfWhatTheyAreInTheirOrder) {
  LocalGroup group(1);
  const auto numbered = [&group](const std::vector<uint64_t>& forms) {
    StepExchanges exchanges(group.OfRank(0));
    exchanges.SetStep(7);
    const std::vector<std::vector<RowRange>> none(1);
    for (const uint64_t form : forms) {
      Exchange exchange;
      exchange.form = form;
      exchange.send_rows = &none;
      exchange.receive_rows = &none;
      EXPECT_THAT(exchanges.Start(exchange)->Wait(), IsOk());
    }
    return exchanges.exchanged();
  };
  EXPECT_EQ(numbered({}), 0U);
  EXPECT_EQ(numbered({3, 5}), numbered({3, 5}));
  for (const std::vector<uint64_t>& others :
       {std::vector<uint64_t>{}, {3}, {5, 3}, {3, 5, 5}, {3, 4}}) {
    EXPECT_NE(numbered(others), numbered({3, 5})) << others.size();
  }
  StepExchanges exchanges(group.OfRank(0));
  exchanges.SetStep(7);
  EXPECT_EQ(exchanges.exchanged(), 0U);
}

TEST(StepExchangesTest, AreOfTheSameGroup) {
  LocalGroup group(2);
  StepExchanges second(group.OfRank(1));
  EXPECT_EQ(second.rank(), 1U);
  EXPECT_EQ(second.size(), 2U);
  EXPECT_THAT(second.Settle(), IsOk());
  const absl::Status why = absl::AbortedError("the test ends it");
  second.Abort(why);
  Rows rows(1);
  EXPECT_EQ(second.Start(rows.exchange())->Wait(), why);
}

}  // namespace
}  // namespace evenpack::worker
