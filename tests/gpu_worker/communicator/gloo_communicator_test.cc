#include "gpu_worker/communicator/gloo_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/gloo_folder.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Ranges = std::vector<std::vector<RowRange>>;

class GlooCommunicatorTest : public ::testing::Test {
 protected:
  GlooFolder OfRank(uint32_t rank, uint32_t ranks,
                    const std::string& group = "group") const {
    GlooFolder folder{{}, scratch_.path(), group};
    folder.options.rank = rank;
    folder.options.ranks = ranks;
    folder.options.exchange_timeout = std::chrono::hours(1);
    return folder;
  }

  // Runs body(communicator) for every rank, each in a thread with a connection of its
  // own.
  void OnEachRank(uint32_t ranks, const std::string& group,
                  const std::function<void(Communicator&)>& body) const {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto communicator = ConnectInFolder(OfRank(rank, ranks, group));
        ASSERT_THAT(communicator.status(), IsOk());
        body(**communicator);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  evenpack::testing::ScratchDirectory scratch_;
};

Exchange OfNumbers(const std::vector<int>& from, std::vector<int>& to,
                   const Ranges& send, const Ranges& receive) {
  Exchange exchange;
  exchange.tensors = {{from.data(), sizeof(int), to.data(), sizeof(int)}};
  exchange.row_bytes = sizeof(int);
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  return exchange;
}

TEST_F(GlooCommunicatorTest, EachRankGetsTheRowsOfEachPeer) {
  constexpr uint32_t kRanks = 4;
  OnEachRank(kRanks, "group", [&](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    ASSERT_EQ(communicator.size(), kRanks);
    Ranges send(kRanks);
    Ranges receive(kRanks);
    for (uint32_t peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      // Of its rows 0 and 1 for the next rank, 2 for the others.
      const bool next = peer == (rank + 1) % kRanks;
      send[peer] = {next ? RowRange{0, 2} : RowRange{2, 1}};
      const bool last = rank == (peer + 1) % kRanks;
      receive[peer] = {{2 * uint64_t{peer}, last ? uint64_t{2} : uint64_t{1}}};
    }
    for (int round = 0; round < 5; ++round) {
      const int base = static_cast<int>(rank) * 100 + round * 10;
      const std::vector<int> from = {base, base + 1, base + 2};
      std::vector<int> first(2 * kRanks, -1);
      std::vector<int> second(2 * kRanks, -1);
      const auto a = communicator.Start(OfNumbers(from, first, send, receive));
      const auto b = communicator.Start(OfNumbers(from, second, send, receive));
      ASSERT_THAT(b->Wait(), IsOk());
      ASSERT_THAT(a->Wait(), IsOk());
      EXPECT_EQ(first, second);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        const int of_peer = static_cast<int>(peer) * 100 + round * 10;
        const bool last = rank == (peer + 1) % kRanks;
        EXPECT_EQ(first[2 * peer], last ? of_peer : of_peer + 2);
        EXPECT_EQ(first[2 * peer + 1], last ? of_peer + 1 : -1);
      }
    }
  });
}

// More than are packed at once: of 12 MiB to the next rank, and of 3 KiB to the others.
TEST_F(GlooCommunicatorTest, ManyRowsArriveAsFewDo) {
  constexpr uint32_t kRanks = 3;
  constexpr uint64_t kMany = 12 << 10;
  constexpr uint64_t kColumns = 256;
  OnEachRank(kRanks, "group", [&](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    const uint32_t next = (rank + 1) % kRanks;
    const uint32_t last = (rank + 2) % kRanks;
    Ranges send(kRanks);
    Ranges receive(kRanks);
    send[next] = {{3, 1}, {3, kMany - 1}};
    send[last] = {{0, 3}};
    receive[last] = {{3, kMany}};
    receive[next] = {{0, 3}};
    std::vector<int> from((3 + kMany) * kColumns);
    for (size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<int>(i) + static_cast<int>(rank << 24);
    }
    std::vector<int> to(from.size(), -1);
    Exchange exchange = OfNumbers(from, to, send, receive);
    exchange.row_bytes = kColumns * sizeof(int);
    exchange.tensors[0].send_stride = exchange.row_bytes;
    exchange.tensors[0].receive_stride = exchange.row_bytes;
    for (int round = 0; round < 2; ++round) {
      ASSERT_THAT(communicator.Start(exchange)->Wait(), IsOk());
      const size_t few = 3 * kColumns;
      for (size_t i = 0; i < to.size(); ++i) {
        // Row 3 travels twice.
        const size_t sent = i < few + kColumns ? i : i - kColumns;
        const uint32_t sender = i < few ? next : last;
        ASSERT_EQ(to[i], static_cast<int>(sent) + static_cast<int>(sender << 24)) << i;
      }
      std::fill(to.begin(), to.end(), -1);
    }
  });
}

// The most that the process has taken so far.
int64_t PeakKiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Two ranks of this process send each other 128 MiB, again and again the same row. The
// thread sanitizer has four bytes for each that is touched.
TEST_F(GlooCommunicatorTest, WhatTravelsIsNotHeldWhole) {
  constexpr uint64_t kRows = 128 << 10;
  constexpr int64_t kHalfOfItKiB = 256 << 10;
  const int64_t before = PeakKiB();
  OnEachRank(2, "group", [&](Communicator& communicator) {
    Ranges rows(2);
    rows[1 - communicator.rank()] = {{0, kRows}};
    const std::vector<int> from(256, 7);
    std::vector<int> to(256, -1);
    Exchange exchange = OfNumbers(from, to, rows, rows);
    exchange.row_bytes = from.size() * sizeof(int);
    exchange.tensors[0].send_stride = 0;
    exchange.tensors[0].receive_stride = 0;
    EXPECT_THAT(communicator.Start(exchange)->Wait(), IsOk());
    EXPECT_EQ(to, from);
  });
  EXPECT_LT(PeakKiB() - before, kHalfOfItKiB);
}

TEST_F(GlooCommunicatorTest, AGroupOfOneHasNobodyToWaitFor) {
  OnEachRank(1, "group", [](Communicator& communicator) {
    const Ranges none(1);
    std::vector<int> numbers(1);
    EXPECT_THAT(communicator.Start(OfNumbers(numbers, numbers, none, none))->Wait(),
                IsOk());
  });
}

// More bytes than are expected, and fewer: from either end of the connection, and of
// several groups, since the ranks find out at one moment or another.
TEST_F(GlooCommunicatorTest, RowsOfAnotherSizeAreRefusedByBothRanks) {
  for (int group = 0; group < 20; ++group) {
    OnEachRank(2, absl::StrCat("group", group), [&](Communicator& communicator) {
      const uint32_t rank = communicator.rank();
      const bool is_long = rank == static_cast<uint32_t>(group % 2);
      Ranges rows(2);
      rows[1 - rank] = {{0, is_long ? uint64_t{1000} : uint64_t{10}}};
      const std::vector<int> from(1000, 7);
      std::vector<int> to(1000, -1);
      EXPECT_THAT(
          communicator.Start(OfNumbers(from, to, rows, rows))->Wait(),
          StatusIs(absl::StatusCode::kFailedPrecondition,
                   AllOf(HasSubstr(absl::StrCat("cp_rank ", 1 - rank, " sends ",
                                                is_long ? "10 rows" : "1000 rows")),
                         HasSubstr("accepted: the same passes"))));
      EXPECT_EQ(to, std::vector<int>(1000, -1));
    });
  }
}

// Of either as many are packed at first.
TEST_F(GlooCommunicatorTest, MoreRowsThanArePackedAtOnceAreRefusedAsFewAre) {
  for (int group = 0; group < 5; ++group) {
    OnEachRank(2, absl::StrCat("group", group), [&](Communicator& communicator) {
      const uint32_t rank = communicator.rank();
      const uint64_t count = uint64_t{rank + 5} << 19;  // of four bytes
      Ranges rows(2);
      rows[1 - rank] = {{0, count}};
      const std::vector<int> from(count, 7);
      std::vector<int> to(count, -1);
      EXPECT_THAT(communicator.Start(OfNumbers(from, to, rows, rows))->Wait(),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("accepted: the same passes")));
      EXPECT_EQ(to, std::vector<int>(count, -1));
    });
  }
}

// Of several groups, as above.
TEST_F(GlooCommunicatorTest, ARankThatDiffersFromAllOthersIsRefusedByEach) {
  constexpr uint32_t kRanks = 4;
  for (uint32_t group = 0; group < 20; ++group) {
    OnEachRank(kRanks, absl::StrCat("group", group), [&](Communicator& communicator) {
      Ranges all(kRanks);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer != communicator.rank()) all[peer] = {{0, 1}};
      }
      std::vector<int> numbers(1);
      std::vector<int> to(1);
      Exchange exchange = OfNumbers(numbers, to, all, all);
      exchange.form = communicator.rank() == group % kRanks ? 1 : 0;
      EXPECT_THAT(communicator.Start(exchange)->Wait(),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("is in another pass than cp_rank")));
    });
  }
}

TEST_F(GlooCommunicatorTest, RowsOfAnotherFormAreRefusedByBothRanks) {
  OnEachRank(2, "group", [](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    Ranges send(2);
    Ranges receive(2);
    (rank == 0 ? send : receive)[1 - rank] = {{0, 1}};
    std::vector<int> numbers(1);
    Exchange exchange = OfNumbers(numbers, numbers, send, receive);
    exchange.form = rank;
    EXPECT_THAT(communicator.Start(exchange)->Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("is in another pass than cp_rank")));
  });
}

// A rank that has no row with the others in an exchange may leave that out, or be in
// another one: they don't meet there, but where they next do.
TEST_F(GlooCommunicatorTest, RanksThatDifferWhereTheyHaveNoRowsAreToldWhereTheyMeet) {
  constexpr uint32_t kRanks = 3;
  OnEachRank(kRanks, "group", [](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    Ranges some(kRanks);
    Ranges all(kRanks);
    for (uint32_t peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      all[peer] = {{0, 1}};
      if (rank > 0 && peer > 0) some[peer] = {{0, 1}};
    }
    const std::vector<int> numbers(1);
    std::vector<int> to(1);
    if (rank > 0) {
      EXPECT_THAT(communicator.Start(OfNumbers(numbers, to, some, some))->Wait(),
                  IsOk());
    }
    EXPECT_THAT(
        communicator.Start(OfNumbers(numbers, to, all, all))->Wait(),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr(" exchanges before this one, and cp_rank "),
                       HasSubstr("accepted: the same passes in the same order"))));
  });
}

// Of several groups, since the peers find the connections closed at one moment or
// another: before they send, while they do, or as they await what doesn't come.
TEST_F(GlooCommunicatorTest, AnAbortEndsTheExchangesOfItsPeers) {
  constexpr uint32_t kRanks = 3;
  for (int group = 0; group < 10; ++group) {
    OnEachRank(kRanks, absl::StrCat("group", group), [](Communicator& communicator) {
      Ranges all(kRanks);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer != communicator.rank()) all[peer] = {{0, 1}};
      }
      std::vector<int> numbers(1);
      std::vector<int> to(1);
      if (communicator.rank() == 1) {
        communicator.Abort(absl::InternalError("the device is gone"));
        EXPECT_THAT(communicator.Start(OfNumbers(numbers, to, all, all))->Wait(),
                    StatusIs(absl::StatusCode::kInternal, "the device is gone"));
        return;
      }
      EXPECT_THAT(communicator.Start(OfNumbers(numbers, to, all, all))->Wait(),
                  StatusIs(absl::StatusCode::kUnavailable,
                           HasSubstr("exchange 0 with its group failed")));
      EXPECT_THAT(communicator.Start(OfNumbers(numbers, to, all, all))->Wait(),
                  StatusIs(absl::StatusCode::kUnavailable, _));
    });
  }
}

TEST_F(GlooCommunicatorTest, APeerThatTakesNoPartIsNamed) {
  constexpr uint32_t kRanks = 3;
  std::barrier waited(kRanks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      GlooFolder folder = OfRank(rank, kRanks);
      folder.options.exchange_timeout = std::chrono::milliseconds(50);
      const auto communicator = ConnectInFolder(folder);
      if (rank == 0) {
        Ranges all(kRanks, {{0, 1}});
        all[0].clear();
        std::vector<int> numbers(1);
        EXPECT_THAT(
            (*communicator)->Start(OfNumbers(numbers, numbers, all, all))->Wait(),
            StatusIs(absl::StatusCode::kUnavailable,
                     HasSubstr("failed: nothing came from cp_rank 1, 2: ")));
      }
      // Connected until then.
      waited.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Whenever it comes: before the exchange, while it begins, while it waits. Where one is
// missed the test takes until its own time-out.
TEST_F(GlooCommunicatorTest, AnAbortEndsTheExchangeThatJustBegins) {
  const Ranges none(2);
  const Ranges of_peer = {{}, {{0, 1}}};
  for (int round = 0; round < 40; ++round) {
    // The peer's end would end it as well.
    std::barrier aborted(2);
    OnEachRank(2, absl::StrCat("group", round), [&](Communicator& communicator) {
      if (communicator.rank() == 1) return aborted.arrive_and_wait();
      // Nobody sends what it waits for.
      std::vector<int> numbers(1);
      const auto transfer =
          communicator.Start(OfNumbers(numbers, numbers, none, of_peer));
      std::thread aborts([&communicator, round] {
        for (int i = 0; i < round * 50; ++i) std::this_thread::yield();
        communicator.Abort(absl::AbortedError("the group was left"));
      });
      EXPECT_THAT(transfer->Wait(),
                  StatusIs(absl::StatusCode::kAborted, "the group was left"));
      aborts.join();
      aborted.arrive_and_wait();
    });
  }
}

}  // namespace
}  // namespace evenpack::worker
