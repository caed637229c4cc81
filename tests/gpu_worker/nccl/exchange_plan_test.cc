#include "gpu_worker/nccl/exchange_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack::worker {
namespace {

using Ranges = std::vector<std::vector<RowRange>>;

// Of rank 1 of three.
class ExchangePlanTest : public ::testing::Test {
 protected:
  ExchangePlan Plan() {
    exchange_.send_rows = &send_;
    exchange_.receive_rows = &receive_;
    staging_.resize(StagingBytes(exchange_));
    return PlanExchange(exchange_, staging_.data());
  }
  void AddTensor(size_t send_stride, size_t receive_stride) {
    exchange_.tensors.push_back({from_, send_stride, to_, receive_stride});
  }

  char from_[4096] = {};
  char to_[4096] = {};
  Exchange exchange_;
  Ranges send_{3};
  Ranges receive_{3};
  std::vector<char> staging_;
};

TEST_F(ExchangePlanTest, RowsInOnePieceTravelFromWhereTheyLieToWhereTheyWillLie) {
  exchange_.row_bytes = 16;
  AddTensor(16, 16);
  send_[0] = {{3, 2}, {5, 4}};
  receive_[2] = {{1, 2}};
  const ExchangePlan plan = Plan();
  EXPECT_TRUE(staging_.empty());
  EXPECT_TRUE(plan.pack.empty());
  EXPECT_TRUE(plan.unpack.empty());
  ASSERT_EQ(plan.sends.size(), 1U);
  EXPECT_EQ(plan.sends[0].peer, 0U);
  EXPECT_EQ(plan.sends[0].data, from_ + 48);
  EXPECT_EQ(plan.sends[0].bytes, 6U * 16);
  ASSERT_EQ(plan.receives.size(), 1U);
  EXPECT_EQ(plan.receives[0].peer, 2U);
  EXPECT_EQ(plan.receives[0].data, to_ + 16);
  EXPECT_EQ(plan.receives[0].bytes, 32U);
}

TEST_F(ExchangePlanTest, RowsWithGapsArePacked) {
  exchange_.row_bytes = 16;
  AddTensor(16, 16);
  send_[0] = {{3, 2}, {7, 1}};
  const ExchangePlan plan = Plan();
  EXPECT_EQ(staging_.size(), 256U);
  ASSERT_EQ(plan.sends.size(), 1U);
  EXPECT_EQ(plan.sends[0].data, staging_.data());
  EXPECT_EQ(plan.sends[0].bytes, 48U);
  ASSERT_EQ(plan.pack.size(), 2U);
  EXPECT_EQ(plan.pack[0].from, from_ + 48);
  EXPECT_EQ(plan.pack[0].rows, 2U);
  EXPECT_EQ(plan.pack[1].from, from_ + 112);
  EXPECT_EQ(plan.pack[1].to, staging_.data() + 32);
  EXPECT_EQ(plan.pack[1].to_stride, 16U);
}

TEST_F(ExchangePlanTest, ColumnsArePackedUnlessTheyAreOfOneRow) {
  exchange_.row_bytes = 16;
  AddTensor(64, 32);
  send_[0] = {{1, 1}};
  send_[2] = {{0, 3}};
  receive_[0] = {{2, 1}};
  receive_[2] = {{0, 2}};
  const ExchangePlan plan = Plan();
  EXPECT_EQ(staging_.size(), 512U);
  ASSERT_EQ(plan.sends.size(), 2U);
  EXPECT_EQ(plan.sends[0].data, from_ + 64);
  EXPECT_EQ(plan.sends[1].data, staging_.data());
  ASSERT_EQ(plan.pack.size(), 1U);
  EXPECT_EQ(plan.pack[0].from_stride, 64U);
  ASSERT_EQ(plan.receives.size(), 2U);
  EXPECT_EQ(plan.receives[0].data, to_ + 64);
  EXPECT_EQ(plan.receives[1].data, staging_.data() + 256);
  ASSERT_EQ(plan.unpack.size(), 1U);
  EXPECT_EQ(plan.unpack[0].from, staging_.data() + 256);
  EXPECT_EQ(plan.unpack[0].to, to_);
  EXPECT_EQ(plan.unpack[0].to_stride, 32U);
  EXPECT_EQ(plan.unpack[0].rows, 2U);
}

TEST_F(ExchangePlanTest, APairHasAMessageForEachTensorInTheirOrder) {
  exchange_.row_bytes = 8;
  AddTensor(8, 8);
  AddTensor(24, 8);
  send_[0] = {{0, 2}};
  receive_[0] = {{4, 2}};
  const ExchangePlan plan = Plan();
  ASSERT_EQ(plan.sends.size(), 2U);
  EXPECT_EQ(plan.sends[0].data, from_);
  EXPECT_EQ(plan.sends[1].data, staging_.data());
  ASSERT_EQ(plan.receives.size(), 2U);
}

TEST_F(ExchangePlanTest, NothingTravelsWhereThereIsNothing) {
  exchange_.row_bytes = 8;
  send_[0] = {{0, 2}};
  EXPECT_TRUE(Plan().sends.empty()) << "no tensor";
  AddTensor(8, 8);
  send_[0] = {{5, 0}};
  EXPECT_TRUE(Plan().sends.empty()) << "no row";
}

}  // namespace
}  // namespace evenpack::worker
