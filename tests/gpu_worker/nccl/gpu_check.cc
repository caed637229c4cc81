// What needs a device: docs/gpu-checks.md. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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
#include "gpu_worker/sidecar_client/trainer_streams.h"
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

TEST_F(GpuCheck, RowsAreSetToNoughtAsOnTheHost) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  std::vector<float> rows(100 * 256, 0.7F);
  const auto on_device = ranks_[0].Holding(rows);
  EXPECT_THAT(Device::Host().Zero(rows.data(), 64 * 4, 256 * 4, 100), IsOk());
  EXPECT_THAT(ranks_[0].device->Zero(on_device->data(), 64 * 4, 256 * 4, 100), IsOk());
  EXPECT_EQ(ranks_[0].Read<float>(*on_device, rows.size()), rows);
}

// Terms of all types, more of them and of their moves than a launch has room for;
// numbers of all magnitudes; rows that can and that can't be read 16 bytes at a time.
TEST_F(GpuCheck, RowsAreSumsOfTheTermsThatGoToThemAsOnTheHost) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  const RealDevice& rank = ranks_[0];
  constexpr uint64_t kRows = 3000;
  for (const size_t columns : {size_t{1024}, size_t{301}}) {
    std::vector<float> numbers(2 * kRows * columns);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::ldexp(1.0F + static_cast<float>(i % 4099) / 4099.0F,
                              static_cast<int>(i % 60) - 35);
      if (i % 2 == 1) numbers[i] = -numbers[i];
    }
    // By type; no sum of halves is infinite.
    std::vector<std::vector<char>> on_host;
    std::vector<std::unique_ptr<DeviceMemory>> there;
    for (const ElementType type : kElementTypes) {
      if (type == ElementType::kFloat16) {
        for (float& number : numbers) number = std::clamp(number, -900.0F, 900.0F);
      }
      on_host.emplace_back(numbers.size() * BytesOf(type));
      Store(type, numbers.data(), numbers.size(), on_host.back().data());
      there.push_back(rank.Holding(on_host.back()));
    }
    for (const size_t count : {size_t{1}, size_t{9}, size_t{70}}) {
      std::vector<std::vector<RowMove>> moves(count);
      for (size_t term = 0; term < count; ++term) {
        for (uint64_t row = term % 7; row + 9 < kRows; row += 10 + term) {
          moves[term].push_back({row / 2, row, 1 + row % 9});
        }
      }
      for (const ElementType type : kElementTypes) {
        const size_t stride = columns * BytesOf(type);
        std::vector<char> expected(2 * kRows * stride, 1);
        const auto on_device = rank.Holding(expected);
        const auto sum = [&](Device& device, bool is_host, void* to) {
          std::vector<RowTerm> terms;
          for (size_t term = 0; term < count; ++term) {
            const size_t i = term % there.size();
            const ElementType of = kElementTypes[i];
            const size_t bytes = columns * BytesOf(of);
            const auto* const first = static_cast<const char*>(
                is_host ? on_host[i].data() : there[i]->data());
            terms.push_back({of, {first, first + kRows * bytes}, bytes, moves[term]});
          }
          auto* const sums = static_cast<char*>(to);
          EXPECT_THAT(
              device.SumRows(
                  terms, {type, {sums, sums + kRows * stride}, stride, columns, kRows}),
              IsOk());
        };
        sum(Device::Host(), true, expected.data());
        sum(*rank.device, false, on_device->data());
        EXPECT_EQ(rank.Read<char>(*on_device, expected.size()), expected)
            << count << " terms of " << columns << " columns, "
            << ElementTypeName(type);
      }
    }
  }
}

// As TrainerStreams has streams wait for submissions, and lets them go where the worker
// is gone. A wait that is not met is ended, so that the device does not hang.
TEST_F(GpuCheck, AStreamThatWaitsGoesOnBehindAllSubmissions) {
  if (!HasDevices(1)) GTEST_SKIP() << why_;
  const CurrentContext current(*ranks_[0].context);
  const cuda::Functions& call = ranks_[0].context->functions();
  const cuda::Stream stream = ranks_[0].compute->handle();
  void* memory = nullptr;
  ASSERT_EQ(call.cuMemHostAlloc(&memory, sizeof(uint64_t), cuda::kHostPortable),
            cuda::kSuccess);
  const std::atomic_ref<uint64_t> passed(*static_cast<uint64_t*>(memory));
  const auto after = CudaEvent::Create(ranks_[0].context).value();
  for (const uint64_t number : {uint64_t{1}, uint64_t{1} << 40}) {
    passed.store(number - 1);
    ASSERT_EQ(call.cuStreamWaitValue64_v2(stream,
                                          reinterpret_cast<cuda::DevicePointer>(memory),
                                          number, cuda::kWaitAtLeast),
              cuda::kSuccess);
    ASSERT_THAT(after->Record(stream), IsOk());
    EXPECT_FALSE(after->IsReached().value());
    passed.store(kPassedAll);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!after->IsReached().value() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(after->IsReached().value()) << "waiting for " << number;
    passed.store(number);
    EXPECT_THAT(after->Await(), IsOk());
  }
  call.cuMemFreeHost(memory);
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

// Rather than aborted, which they would be 5 s later.
TEST_F(GpuCheck, TwoDevicesThatEndAreClosed) {
  if (!HasDevices(2) || !Connect(std::chrono::minutes(1))) GTEST_SKIP() << why_;
  OnEachRank([&](uint32_t rank) {
    const auto rows = ranks_[rank].Holding(std::vector<int>(8 * 2));
    std::vector<std::vector<RowRange>> send(2);
    std::vector<std::vector<RowRange>> receive(2);
    send[1 - rank] = {{0, 2}};
    receive[1 - rank] = {{4, 2}};
    EXPECT_THAT(Swap(rank, *rows, 2 * sizeof(int), send, receive)->WaitForArrival(),
                IsOk());
    const auto start = std::chrono::steady_clock::now();
    communicators_[rank]->Leave(absl::AbortedError("the job is drained"));
    communicators_[rank] = nullptr;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
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
