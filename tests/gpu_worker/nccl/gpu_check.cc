// What needs a device: docs/gpu-checks.md. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/nccl/nccl_endpoint.h"
#include "tests/gpu_worker/cuda/real_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RealDevice;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

// The first devices of the host, or none where it has fewer.
class GpuCheck : public ::testing::Test {
 protected:
  bool HasDevices(int count) {
    for (int i = 0; i < count; ++i) {
      absl::StatusOr<RealDevice> rank = RealDevice::Open(i);
      why_ = rank.status();
      if (!rank.ok()) return false;
      ranks_.push_back(*std::move(rank));
    }
    return true;
  }
  bool Connect(std::chrono::nanoseconds exchange_timeout) {
    const auto library = NcclLibrary::Load();
    why_ = library.status();
    if (!library.ok()) return false;
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<std::string> addresses;
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      NcclOptions options;
      options.seat = {rank, static_cast<uint32_t>(ranks_.size())};
      options.timing.exchange_timeout = exchange_timeout;
      options.device = {ranks_[rank].context, ranks_[rank].memory,
                        ranks_[rank].compute->handle()};
      endpoints.push_back(OpenNcclEndpoint(*library, options).value());
      addresses.push_back(endpoints.back()->address());
    }
    communicators_.resize(ranks_.size());
    OnEachRank([&](uint32_t rank) {
      auto connected = endpoints[rank]->Connect(addresses);
      ASSERT_THAT(connected, IsOk());
      communicators_[rank] = *std::move(connected);
    });
    return true;
  }
  void TearDown() override {
    OnEachRank([&](uint32_t rank) {
      if (rank < communicators_.size()) communicators_[rank] = nullptr;
    });
  }
  void OnEachRank(const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      threads.emplace_back(body, rank);
    }
    for (std::thread& thread : threads) thread.join();
  }
  // Rows of two numbers: all of those of the first half to the peer's second half.
  std::unique_ptr<Transfer> Swap(uint32_t rank, const DeviceMemory& rows,
                                 size_t row_bytes,
                                 const std::vector<std::vector<RowRange>>& send,
                                 const std::vector<std::vector<RowRange>>& receive) {
    Exchange exchange;
    exchange.tensors = {{rows.data(), 2 * sizeof(int), rows.data(), 2 * sizeof(int)}};
    exchange.row_bytes = row_bytes;
    exchange.send_rows = &send;
    exchange.receive_rows = &receive;
    return communicators_[rank]->Start(exchange);
  }

  absl::Status why_;
  std::vector<RealDevice> ranks_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

TEST_F(GpuCheck, TheDriverIsAccepted) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  EXPECT_THAT(ranks_[0].compute->Synchronize(), IsOk());
}

TEST_F(GpuCheck, RowsAreSetToNoughtAndAddedAsOnTheHost) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  const RealDevice& rank = ranks_[0];
  std::vector<RowMove> moves;
  uint64_t rows = 0;
  for (uint64_t i = 0; i < 150; ++i) {
    moves.push_back({rows, i * 9, 1 + i % 8});
    rows += 1 + i % 8;
  }
  std::vector<float> from(rows * 128);
  std::iota(from.begin(), from.end(), 0.1F);
  std::vector<float> sums(150 * 9 * 256, 0.7F);
  const auto arrived = rank.Holding(from);
  const auto on_device = rank.Holding(sums);
  Device& host = Device::Host();
  EXPECT_THAT(host.Zero(sums.data(), 64 * 4, 256 * 4, 100), IsOk());
  EXPECT_THAT(rank.device->Zero(on_device->data(), 64 * 4, 256 * 4, 100), IsOk());
  const auto sums_of = [&moves](const void* read, void* added_to) {
    std::vector<RowCopy> added;
    AppendCopies({read, 128 * sizeof(float), static_cast<float*>(added_to) + 128,
                  256 * sizeof(float)},
                 moves, 128 * sizeof(float), added);
    return added;
  };
  EXPECT_THAT(host.AddRows(sums_of(from.data(), sums.data())), IsOk());
  EXPECT_THAT(rank.device->AddRows(sums_of(arrived->data(), on_device->data())),
              IsOk());
  EXPECT_EQ(rank.Read<float>(*on_device, sums.size()), sums);
}

TEST_F(GpuCheck, SumsAreRoundedAsOnTheHost) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  const RealDevice& rank = ranks_[0];
  std::vector<float> from(100001);
  // Of all magnitudes, beyond those of halves on both sides.
  for (size_t i = 0; i < from.size(); ++i) {
    from[i] = std::ldexp(1.0F + static_cast<float>(i % 4099) / 4099.0F,
                         static_cast<int>(i % 60) - 35);
    if (i % 2 == 1) from[i] = -from[i];
  }
  const auto sums = rank.Holding(from);
  for (const ElementType type : kElementTypes) {
    std::vector<char> expected(from.size() * BytesOf(type));
    Store(type, from.data(), from.size(), expected.data());
    const auto to = rank.device->Allocate(expected.size()).value();
    EXPECT_THAT(rank.device->Convert(type, static_cast<const float*>(sums->data()),
                                     from.size(), to->data()),
                IsOk());
    EXPECT_EQ(rank.Read<char>(*to, expected.size()), expected) << ElementTypeName(type);
  }
}

TEST_F(GpuCheck, AGroupOfOneConnectsAndCloses) {
  if (!HasDevices(1) || !Connect(std::chrono::minutes(1))) GTEST_SKIP() << why_;
  EXPECT_EQ(communicators_[0]->size(), 1U);
}

TEST_F(GpuCheck, TwoDevicesExchangeRows) {
  if (!HasDevices(2) || !Connect(std::chrono::minutes(1))) GTEST_SKIP() << why_;
  OnEachRank([&](uint32_t rank) {
    std::vector<int> numbers(8 * 2);
    std::iota(numbers.begin(), numbers.end(), static_cast<int>(rank) * 100);
    const auto rows = ranks_[rank].Holding(numbers);
    std::vector<std::vector<RowRange>> send(2);
    std::vector<std::vector<RowRange>> receive(2);
    // In place, then a column of rows with a gap.
    send[1 - rank] = {{0, 2}};
    receive[1 - rank] = {{4, 2}};
    EXPECT_THAT(Swap(rank, *rows, 2 * sizeof(int), send, receive)->Wait(), IsOk());
    send[1 - rank] = {{1, 1}, {3, 1}};
    receive[1 - rank] = {{6, 2}};
    EXPECT_THAT(Swap(rank, *rows, sizeof(int), send, receive)->WaitForArrival(),
                IsOk());
    const int peer = static_cast<int>(1 - rank) * 100;
    std::vector<int> expected = numbers;
    for (int i = 0; i < 4; ++i) expected[8 + static_cast<size_t>(i)] = peer + i;
    expected[12] = peer + 2;
    expected[14] = peer + 6;
    EXPECT_EQ(ranks_[rank].Read<int>(*rows, 16), expected);
  });
}

TEST_F(GpuCheck, APeerThatDoesNotTakePartIsGivenUp) {
  if (!HasDevices(2) || !Connect(std::chrono::seconds(5))) GTEST_SKIP() << why_;
  const auto rows = ranks_[0].Holding(std::vector<int>(8));
  const std::vector<std::vector<RowRange>> first = {{}, {{0, 1}}};
  const std::vector<std::vector<RowRange>> last = {{}, {{3, 1}}};
  EXPECT_THAT(
      Swap(0, *rows, 2 * sizeof(int), first, last)->WaitForArrival(),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a peer does not take part")));
  EXPECT_THAT(ranks_[0].compute->Synchronize(), IsOk());
  communicators_[1]->Abort(absl::AbortedError("the peer has gone"));
}

}  // namespace
}  // namespace evenpack::worker
