#include "gpu_worker/communicator/local_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ranges = std::vector<std::vector<RowRange>>;

// Runs body(communicator) for every rank, each in a thread.
void OnEachRank(LocalGroup& group, uint32_t ranks,
                const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(group.OfRank(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Rows of two numbers.
struct Tensor {
  explicit Tensor(size_t rows, int first = 0) : numbers(2 * rows) {
    std::iota(numbers.begin(), numbers.end(), first);
  }
  std::vector<int> numbers;
};

constexpr size_t kRow = 2 * sizeof(int);

Exchange Whole(Tensor& from, Tensor& to, const Ranges& send, const Ranges& receive) {
  Exchange exchange;
  exchange.tensors = {{from.numbers.data(), kRow, to.numbers.data(), kRow}};
  exchange.row_bytes = kRow;
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  return exchange;
}

TEST(LocalGroupTest, KnowsItsRanks) {
  LocalGroup group(3);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(group.OfRank(rank).rank(), rank);
    EXPECT_EQ(group.OfRank(rank).size(), 3U);
  }
}

TEST(LocalGroupTest, RowsTravelFromRangesToRanges) {
  LocalGroup group(2);
  Tensor of_0(4, 0);    // rows 0 1, 2 3, 4 5, 6 7
  Tensor of_1(3, 100);  // rows 100 101, 102 103, 104 105
  Tensor to_0(2);
  Tensor to_1(4);
  std::fill(to_1.numbers.begin(), to_1.numbers.end(), -1);
  const Ranges send_0 = {{}, {{3, 1}, {0, 2}}};
  const Ranges receive_0 = {{}, {{0, 2}}};
  const Ranges send_1 = {{{2, 1}, {0, 1}}, {}};
  const Ranges receive_1 = {{{1, 1}, {2, 1}, {0, 1}}, {}};
  OnEachRank(group, 2, [&](Communicator& communicator) {
    const Exchange exchange = communicator.rank() == 0
                                  ? Whole(of_0, to_0, send_0, receive_0)
                                  : Whole(of_1, to_1, send_1, receive_1);
    EXPECT_THAT(communicator.Start(exchange)->Wait(), IsOk());
  });
  EXPECT_THAT(to_0.numbers, ElementsAre(104, 105, 100, 101));
  EXPECT_THAT(to_1.numbers, ElementsAre(2, 3, 6, 7, 0, 1, -1, -1));
}

TEST(LocalGroupTest, ColumnsOfRowsTravelByThemselves) {
  LocalGroup group(2);
  std::vector<std::vector<int>> from = {{0, 1, 2, 3, 4, 5}, {10, 11, 12, 13, 14, 15}};
  std::vector<std::vector<int>> to = {{-1, -1}, {-1, -1}};
  const Ranges to_peer[] = {{{}, {{0, 2}}}, {{{0, 2}}, {}}};
  OnEachRank(group, 2, [&](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    // The second of three columns.
    Exchange exchange;
    exchange.tensors = {
        {&from[rank][1], 3 * sizeof(int), to[rank].data(), sizeof(int)}};
    exchange.row_bytes = sizeof(int);
    exchange.send_rows = &to_peer[rank];
    exchange.receive_rows = &to_peer[rank];
    EXPECT_THAT(communicator.Start(exchange)->Wait(), IsOk());
  });
  EXPECT_THAT(to[0], ElementsAre(11, 14));
  EXPECT_THAT(to[1], ElementsAre(1, 4));
}

TEST(LocalGroupTest, SeveralExchangesMayBeUnderWay) {
  constexpr uint32_t kRanks = 4;
  LocalGroup group(kRanks);
  OnEachRank(group, kRanks, [&](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    Ranges send(kRanks);
    Ranges receive(kRanks);
    for (uint32_t peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      send[peer] = {{0, 1}};
      receive[peer] = {{peer, 1}};
    }
    for (int round = 0; round < 50; ++round) {
      std::vector<Tensor> from;
      std::vector<Tensor> to(3, Tensor(kRanks));
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (int i = 0; i < 3; ++i) {
        from.emplace_back(1, static_cast<int>(rank) * 1000 + round * 10 + i);
      }
      for (size_t i = 0; i < 3; ++i) {
        transfers.push_back(communicator.Start(Whole(from[i], to[i], send, receive)));
      }
      for (size_t i = 3; i-- > 0;) {
        ASSERT_THAT(transfers[i]->Wait(), IsOk());
        for (uint32_t peer = 0; peer < kRanks; ++peer) {
          if (peer == rank) continue;
          ASSERT_EQ(to[i].numbers[2 * peer],
                    static_cast<int>(peer) * 1000 + round * 10 + static_cast<int>(i));
        }
      }
    }
  });
}

TEST(LocalGroupTest, AnAbortEndsWhatIsUnderWayAndWhatComes) {
  LocalGroup group(2);
  Tensor tensor(1);
  const Ranges one = {{{0, 1}}, {{0, 1}}};
  // The other rank never begins.
  Communicator& communicator = group.OfRank(0);
  const auto transfer = communicator.Start(Whole(tensor, tensor, one, one));
  std::thread other(
      [&] { group.OfRank(1).Abort(absl::AbortedError("a rank is gone")); });
  EXPECT_THAT(transfer->Wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a rank is gone")));
  other.join();
  EXPECT_THAT(communicator.Start(Whole(tensor, tensor, one, one))->Wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a rank is gone")));
}

TEST(LocalGroupTest, APeerThatDoesNotTakePartAbortsTheGroupInTime) {
  LocalGroupOptions options;
  options.timeout = std::chrono::milliseconds(1);
  LocalGroup group(2, options);
  Tensor tensor(1);
  const Ranges one = {{{0, 1}}, {{0, 1}}};
  EXPECT_THAT(group.OfRank(0).Start(Whole(tensor, tensor, one, one))->Wait(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cp_rank 1 did not begin exchange 0 in time")));
}

TEST(LocalGroupTest, RanksThatDisagreeOnTheRowsAreAnError) {
  LocalGroup group(2);
  Tensor tensor(4);
  const Ranges two[] = {{{}, {{0, 2}}}, {{{0, 2}}, {}}};
  const Ranges three = {{}, {{0, 3}}};
  OnEachRank(group, 2, [&](Communicator& communicator) {
    Tensor to(4);
    const Exchange exchange = communicator.rank() == 0
                                  ? Whole(tensor, to, two[0], three)
                                  : Whole(tensor, to, two[1], two[1]);
    EXPECT_THAT(communicator.Start(exchange)->Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AnyOf(HasSubstr("cp_rank 0 expects 3 rows and sends 2"),
                               HasSubstr("cp_rank 0 sends 2 rows and expects 3"))));
  });
}

// 16,000 bytes at 1 MB a second.
TEST(LocalGroupTest, AThrottledExchangeTakesAsLongAsItsBytes) {
  LocalGroupOptions options;
  options.bytes_per_second = 1e6;
  LocalGroup group(2, options);
  const Ranges all[] = {{{}, {{0, 2000}}}, {{{0, 2000}}, {}}};
  OnEachRank(group, 2, [&](Communicator& communicator) {
    Tensor from(2000);
    Tensor to(2000);
    const Ranges& ranges = all[communicator.rank()];
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(communicator.Start(Whole(from, to, ranges, ranges))->Wait(), IsOk());
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(16));
  });
}

}  // namespace
}  // namespace evenpack::worker
