#include "tests/bench/stand_in_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/gpu_worker/cudnn/rank_on_doubles.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;

class StandInGroupTest : public evenpack::testing::FakeDeviceTest {
 protected:
  StandInGroupTest() : source_(Numbers({1, 2, 3})), received_(Numbers({0, 0, 0, 0})) {
    exchange_.tensors = {
        {nullptr, sizeof(uint64_t), received_->data(), sizeof(uint64_t)}};
    exchange_.row_bytes = sizeof(uint64_t);
    exchange_.send_rows = &none_;
    exchange_.receive_rows = &rows_;
  }

  std::unique_ptr<DeviceMemory> Numbers(const std::vector<uint64_t>& numbers) {
    const size_t bytes = numbers.size() * sizeof(uint64_t);
    auto memory = rank_->device().Allocate(bytes).value();
    EXPECT_THAT(rank_->device().CopyFromHost(numbers.data(), bytes, memory->data()),
                IsOk());
    return memory;
  }
  std::vector<uint64_t> Received() {
    std::vector<uint64_t> numbers(4);
    EXPECT_THAT(
        rank_->device().CopyToHost(received_->data(), numbers.size() * sizeof(uint64_t),
                                   numbers.data()),
        IsOk());
    return numbers;
  }

  const std::unique_ptr<CudaRank> rank_ = CudaRank::Open(RankOnDoubles()).value();
  std::unique_ptr<DeviceMemory> source_;
  std::unique_ptr<DeviceMemory> received_;
  const std::vector<std::vector<RowRange>> none_ = {{}, {}};
  const std::vector<std::vector<RowRange>> rows_ = {{}, {{0, 1}, {2, 1}}};
  Exchange exchange_;
};

TEST_F(StandInGroupTest, WhatARankReceivesComesFromTheBufferAtTheSpeed) {
  const auto group = PacedExchange::Open(*rank_, 0, 2, source_->data(),
                                         /*bytes_per_second=*/16e3, kFakeImage)
                         .value();
  const auto begun = rank_->device().Mark().value();
  EXPECT_THAT(group->Start(exchange_)->Wait(), IsOk());
  const auto done = rank_->device().Mark().value();
  EXPECT_THAT(Received(), ElementsAre(1, 0, 2, 0));
  // 16 bytes of 16,000 a second.
  EXPECT_EQ(done->Since(*begun).value(), 1'000'000);
}

TEST_F(StandInGroupTest, WithoutAnExchangeNothingIsTouched) {
  NoExchange group(0, 2);
  EXPECT_THAT(group.Start(exchange_)->Wait(), IsOk());
  EXPECT_THAT(Received(), ElementsAre(0, 0, 0, 0));
}

TEST_F(StandInGroupTest, WithoutKernelsThereIsNone) {
  EXPECT_THAT(
      PacedExchange::Open(*rank_, 0, 2, source_->data(), 16e3, /*image=*/{}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

}  // namespace
}  // namespace evenpack::worker
