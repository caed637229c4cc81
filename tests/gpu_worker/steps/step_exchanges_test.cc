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
