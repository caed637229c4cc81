#include "gpu_worker/nccl/nccl_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::FakeDevice;
using evenpack::testing::FakeGroup;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::PassingTime;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Ranges = std::vector<std::vector<RowRange>>;

// An exchange of random rows, as every rank has it.
class DrawnExchange {
 public:
  static constexpr uint64_t kRows = 40;

  DrawnExchange(uint32_t ranks, std::mt19937_64& random)
      : send_(ranks, Ranges(ranks)), receive_(ranks, Ranges(ranks)) {
    tensors_ = Draw(random, 1, 2);
    row_ = Draw(random, 1, 3) * sizeof(int);
    // Some with other columns beside, on each end.
    from_stride_ = row_ + Draw(random, 0, 1) * 2 * sizeof(int);
    to_stride_ = row_ + Draw(random, 0, 1) * sizeof(int);
    for (uint32_t from = 0; from < ranks; ++from) {
      for (uint32_t to = 0; to < ranks; ++to) {
        if (from == to || Draw(random, 0, 4) == 0) continue;
        const uint64_t rows = Draw(random, 1, 4);
        send_[from][to] = Ranged(rows, 0, random);
        // Of one peer nothing lies where something of another does.
        receive_[to][from] = Ranged(rows, from * 5, random);
      }
    }
  }

  uint32_t tensors() const { return tensors_; }
  size_t from_bytes() const { return kRows * from_stride_; }
  size_t to_bytes() const { return kRows * to_stride_; }

  Exchange Of(uint32_t rank, const std::vector<const void*>& from,
              const std::vector<void*>& to) const {
    Exchange exchange;
    for (uint32_t t = 0; t < tensors_; ++t) {
      exchange.tensors.push_back({from[t], from_stride_, to[t], to_stride_});
    }
    exchange.row_bytes = row_;
    exchange.send_rows = &send_[rank];
    exchange.receive_rows = &receive_[rank];
    return exchange;
  }

 private:
  // In one range, or row by row backwards.
  static std::vector<RowRange> Ranged(uint64_t rows, uint64_t first,
                                      std::mt19937_64& random) {
    if (Draw(random, 0, 1) == 0) return {{first, rows}};
    std::vector<RowRange> ranges;
    for (uint64_t i = rows; i-- > 0;) ranges.push_back({first + i, 1});
    return ranges;
  }

  uint32_t tensors_ = 1;
  size_t row_ = 0;
  size_t from_stride_ = 0;
  size_t to_stride_ = 0;
  std::vector<Ranges> send_;
  std::vector<Ranges> receive_;
};

// What a rank has on its side of an exchange.
struct HostTensors {
  HostTensors(const DrawnExchange& drawn, int seed) {
    for (uint32_t t = 0; t < drawn.tensors(); ++t) {
      from.emplace_back(drawn.from_bytes() / sizeof(int));
      for (int& number : from.back()) number = ++seed;
      to.emplace_back(drawn.to_bytes() / sizeof(int), -1);
    }
  }
  Exchange OnHost(const DrawnExchange& drawn, uint32_t rank) {
    std::vector<const void*> of;
    std::vector<void*> into;
    for (size_t t = 0; t < from.size(); ++t) {
      of.push_back(from[t].data());
      into.push_back(to[t].data());
    }
    return drawn.Of(rank, of, into);
  }

  std::vector<std::vector<int>> from;
  std::vector<std::vector<int>> to;
};

// The same on a device.
struct DeviceTensors {
  DeviceTensors(const HostTensors& tensors, FakeDevice& device) {
    for (size_t t = 0; t < tensors.from.size(); ++t) {
      from.push_back(device.Take(tensors.from[t].size() * sizeof(int)));
      device.Write(tensors.from[t], from.back());
      to.push_back(device.Take(tensors.to[t].size() * sizeof(int)));
      device.Write(tensors.to[t], to.back());
    }
  }
  Exchange OnDevice(const DrawnExchange& drawn, uint32_t rank) {
    std::vector<const void*> of;
    std::vector<void*> into;
    for (size_t t = 0; t < from.size(); ++t) {
      of.push_back(from[t].data());
      into.push_back(to[t].data());
    }
    return drawn.Of(rank, of, into);
  }

  std::vector<CudaBuffer> from;
  std::vector<CudaBuffer> to;
};

class NcclCommunicatorTest : public evenpack::testing::FakeNcclTest {};

TEST_F(NcclCommunicatorTest, KnowsItsRanks) {
  FakeGroup group(3, Library(), Timing());
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(group.communicator(rank).rank(), rank);
    EXPECT_EQ(group.communicator(rank).size(), 3U);
  }
  group.LeaveAll();
}

// Several at once, waited for in any order, against those of threads' memory.
TEST_F(NcclCommunicatorTest, AnyRowsTravelAsTheyDoBetweenThreads) {
  for (const uint32_t ranks : {1U, 2U, 3U, 4U, 8U}) {
    SCOPED_TRACE(ranks);
    fakeNcclSetPolls(static_cast<int>(ranks % 3));
    FakeGroup group(ranks, Library(), Timing());
    LocalGroup local(ranks);
    for (uint64_t seed = 0; seed < 12; ++seed) {
      std::mt19937_64 random(100 * ranks + seed);
      std::vector<DrawnExchange> drawn;
      for (int i = 0; i < 3; ++i) drawn.emplace_back(ranks, random);
      InThreads(ranks, [&](uint32_t rank) {
        FakeDevice& device = group.device(rank);
        std::vector<HostTensors> expected;
        std::vector<DeviceTensors> tensors;
        for (size_t i = 0; i < drawn.size(); ++i) {
          expected.emplace_back(drawn[i], static_cast<int>(rank * 1000 + i * 300000));
          tensors.emplace_back(expected.back(), device);
        }
        std::vector<std::unique_ptr<Transfer>> transfers;
        std::vector<std::unique_ptr<Transfer>> on_host;
        for (size_t i = 0; i < drawn.size(); ++i) {
          on_host.push_back(
              local.OfRank(rank).Start(expected[i].OnHost(drawn[i], rank)));
          transfers.push_back(
              group.communicator(rank).Start(tensors[i].OnDevice(drawn[i], rank)));
        }
        for (size_t i = drawn.size(); i-- > 0;) {
          EXPECT_THAT(transfers[i]->Wait(), IsOk());
          EXPECT_THAT(on_host[i]->Wait(), IsOk());
          for (size_t t = 0; t < expected[i].to.size(); ++t) {
            EXPECT_EQ(device.Read<int>(tensors[i].to[t]), expected[i].to[t]);
          }
        }
      });
    }
    group.LeaveAll();
  }
}

// Two ranks, each of which sends the other a row.
class NcclPairTest : public NcclCommunicatorTest {
 protected:
  NcclPairTest() : group_(2, Library(), Timing()) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      buffers_.push_back(group_.device(rank).Take(2 * sizeof(int)));
    }
  }

  std::unique_ptr<Transfer> Start(uint32_t rank) {
    Exchange exchange;
    char* const data = static_cast<char*>(buffers_[rank].data());
    exchange.tensors = {{data, sizeof(int), data + sizeof(int), sizeof(int)}};
    exchange.row_bytes = sizeof(int);
    exchange.send_rows = &rows_[rank];
    exchange.receive_rows = &rows_[rank];
    return group_.communicator(rank).Start(exchange);
  }
  void Write(uint32_t rank, int number) {
    group_.device(rank).Write(std::vector<int>{number, -1}, buffers_[rank]);
  }
  int Received(uint32_t rank) {
    return group_.device(rank).Read<int>(buffers_[rank])[1];
  }

  const Ranges rows_[2] = {{{}, {{0, 1}}}, {{{0, 1}}, {}}};
  FakeGroup group_;
  std::vector<CudaBuffer> buffers_;
};

TEST_F(NcclPairTest, ATransferIsOrderedWithWhatTheDeviceComputes) {
  InThreads(2, [&](uint32_t rank) {
    FakeDevice& device = group_.device(rank);
    StreamGate gate;
    gate.Close(*device.context(), device.compute());
    // What is sent is written behind the gate, and the host goes on.
    const std::vector<int> sent = {static_cast<int>(rank) + 7, -1};
    {
      const CurrentContext current(*device.context());
      device.context()->functions().cuMemcpyHtoDAsync_v2(
          reinterpret_cast<cuda::DevicePointer>(buffers_[rank].data()), sent.data(),
          2 * sizeof(int), device.compute());
    }
    const auto transfer = Start(rank);
    EXPECT_THAT(transfer->Wait(), IsOk());
    gate.Open();
    // In the order of the compute stream.
    EXPECT_EQ(Received(rank), 8 - static_cast<int>(rank));
  });
  group_.LeaveAll();
}

TEST_F(NcclPairTest, WhoWaitsForArrivalMayReadAtOnce) {
  InThreads(2, [&](uint32_t rank) {
    Write(rank, static_cast<int>(rank) + 7);
    const auto transfer = Start(rank);
    EXPECT_THAT(transfer->WaitForArrival(), IsOk());
    EXPECT_EQ(static_cast<const int*>(buffers_[rank].data())[1],
              8 - static_cast<int>(rank));
  });
  group_.LeaveAll();
}

TEST_F(NcclPairTest, ItIsSettledOnceAllHasArrived) {
  InThreads(2, [&](uint32_t rank) {
    EXPECT_THAT(group_.communicator(rank).Settle(), IsOk());
    Write(rank, static_cast<int>(rank) + 7);
    EXPECT_THAT(Start(rank)->Wait(), IsOk());
    EXPECT_THAT(group_.communicator(rank).Settle(), IsOk());
    EXPECT_EQ(static_cast<const int*>(buffers_[rank].data())[1],
              8 - static_cast<int>(rank));
  });
  fakeNcclStall(1, true);
  EXPECT_THAT(Start(0)->Wait(), IsOk());
  const PassingTime time(clock_);
  EXPECT_THAT(
      group_.communicator(0).Settle(),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("exchange 1 did not")));
  group_.communicator(1).Abort(absl::AbortedError("the end"));
}

TEST_F(NcclPairTest, APeerThatDoesNotTakePartEndsTheExchangeInTime) {
  Write(0, 1);
  const auto transfer = Start(0);
  EXPECT_THAT(transfer->Wait(), IsOk()) << "it is ordered, and nothing is known yet";
  const PassingTime time(clock_);
  const auto error =
      StatusIs(absl::StatusCode::kUnavailable,
               "cp_rank 0 of 2: exchange 0 did not end within 600000 ms: a peer does "
               "not take part; the group is aborted");
  EXPECT_THAT(transfer->WaitForArrival(), error);
  group_.device(0).Synchronize();
  EXPECT_THAT(Start(0)->Wait(), error);
}

TEST_F(NcclPairTest, ARankWhoseExchangesStandStillIsAborted) {
  fakeNcclStall(1, true);
  InThreads(2, [&](uint32_t rank) { Write(rank, 1); });
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (uint32_t rank = 0; rank < 2; ++rank) transfers.push_back(Start(rank));
  const PassingTime time(clock_);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(transfers[rank]->WaitForArrival(),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("did not end within 600000 ms")));
  }
}

// What the device has yet to compute is no fault of the peers.
TEST_F(NcclPairTest, TimeBeforeATransferBeginsDoesNotCount) {
  StreamGate gates[2];
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Write(rank, 3);
    gates[rank].Close(*group_.device(rank).context(), group_.device(rank).compute());
    transfers.push_back(Start(rank));
  }
  {
    const PassingTime time(clock_);
    const Clock::TimePoint begun = clock_.Now();
    while (clock_.Now() - begun < std::chrono::hours(5)) std::this_thread::yield();
  }
  for (uint32_t rank = 0; rank < 2; ++rank) gates[rank].Open();
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(transfers[rank]->WaitForArrival(), IsOk());
    EXPECT_EQ(Received(rank), 3);
  }
  transfers.clear();
  group_.LeaveAll();
}

TEST_F(NcclPairTest, AnErrorThatNcclFindsEndsTheExchange) {
  Write(0, 1);
  const auto transfer = Start(0);
  fakeNcclRaise(0, nccl::kInternalError);
  const auto error =
      StatusIs(absl::StatusCode::kInternal,
               "cp_rank 0 of 2: NCCL failed in an exchange: internal error; the "
               "double's last error");
  EXPECT_THAT(transfer->WaitForArrival(), error);
  EXPECT_THAT(Start(0)->Wait(), error);
  EXPECT_THAT(Start(0)->WaitForArrival(), error);
}

TEST_F(NcclPairTest, PeersOfARankThatFailedHearOfItByTheirNccl) {
  fakeNcclTellPeers(true);
  fakeNcclStall(0, true);
  InThreads(2, [&](uint32_t rank) {
    Write(rank, 1);
    const auto transfer = Start(rank);
    if (rank == 0) {
      group_.communicator(0).Abort(absl::AbortedError("the engine failed"));
      EXPECT_THAT(transfer->WaitForArrival(),
                  StatusIs(absl::StatusCode::kAborted, "the engine failed"));
    } else {
      EXPECT_THAT(transfer->WaitForArrival(),
                  StatusIs(absl::StatusCode::kUnavailable,
                           AllOf(HasSubstr("cp_rank 1 of 2: NCCL failed "),
                                 HasSubstr("remote process exited"))));
    }
  });
}

TEST_F(NcclPairTest, AnAbortOfAnotherThreadEndsWhatIsUnderWayAndWhatComes) {
  Write(0, 1);
  const auto transfer = Start(0);
  std::thread other(
      [&] { group_.communicator(0).Abort(absl::AbortedError("epoch 1 has ended")); });
  const auto error = StatusIs(absl::StatusCode::kAborted, "epoch 1 has ended");
  EXPECT_THAT(transfer->WaitForArrival(), error);
  other.join();
  EXPECT_THAT(Start(0)->Wait(), error);
  // The other rank's own.
  group_.communicator(1).Abort(absl::AbortedError("here, too"));
}

TEST_F(NcclPairTest, WhoHasLeftExchangesNothingMoreAndIsClosed) {
  const size_t aborts = fakeNcclAborts();
  InThreads(2, [&](uint32_t rank) {
    Write(rank, static_cast<int>(rank) + 7);
    EXPECT_THAT(Start(rank)->WaitForArrival(), IsOk());
    group_.communicator(rank).Leave(absl::AbortedError("the job is drained"));
    group_.Leave(rank);
  });
  EXPECT_EQ(fakeNcclAborts(), aborts);
}

TEST_F(NcclPairTest, AnExchangeThatBeginsAfterARankHasLeftAbortsItsGroup) {
  const size_t aborts = fakeNcclAborts();
  group_.communicator(0).Leave(absl::AbortedError("the job is drained"));
  EXPECT_THAT(Start(0)->WaitForArrival(),
              StatusIs(absl::StatusCode::kAborted, "the job is drained"));
  EXPECT_EQ(fakeNcclAborts(), aborts + 1);
}

// As where a peer's process doesn't end: NCCL waits for it.
TEST_F(NcclPairTest, APeerThatDoesNotTakeWhatItWasSentIsWaitedForInBounds) {
  fakeNcclBuffer(0);
  Write(0, 1);
  const Ranges sends[] = {{{}, {{0, 1}}}};
  const Ranges receives[] = {{{}, {}}};
  Exchange exchange;
  exchange.tensors = {{buffers_[0].data(), sizeof(int), nullptr, sizeof(int)}};
  exchange.row_bytes = sizeof(int);
  exchange.send_rows = &sends[0];
  exchange.receive_rows = &receives[0];
  EXPECT_THAT(group_.communicator(0).Start(exchange)->WaitForArrival(), IsOk());
  const size_t aborts = fakeNcclAborts();
  group_.communicator(0).Leave(absl::AbortedError("the job is drained"));
  const PassingTime time(clock_);
  group_.Leave(0);
  EXPECT_EQ(fakeNcclAborts(), aborts + 1);
}

TEST_F(NcclPairTest, TransfersMayBeDroppedAndTheirMemoryGivenBack) {
  InThreads(2, [&](uint32_t rank) {
    Write(rank, 1);
    for (int i = 0; i < 5; ++i) Start(rank);
    buffers_[rank] = CudaBuffer();
    group_.Leave(rank);
  });
}

TEST_F(NcclPairTest, ItMayGoWhileAPeerIsMissing) {
  Write(0, 1);
  Start(0);
  buffers_[0] = CudaBuffer();
  const PassingTime time(clock_);
  group_.Leave(0);
  EXPECT_EQ(fakeNcclLive(), 1U);
}

TEST_F(NcclPairTest, RanksThatDisagreeOnTheRowsAreAnError) {
  const Ranges two[] = {{{}, {{0, 2}}}, {{{0, 2}}, {}}};
  const Ranges three = {{}, {{0, 3}}};
  InThreads(2, [&](uint32_t rank) {
    FakeDevice& device = group_.device(rank);
    const CudaBuffer from = device.Take(16);
    const CudaBuffer to = device.Take(16);
    device.Write(std::vector<int>(4), from);
    Exchange exchange;
    exchange.tensors = {{from.data(), sizeof(int), to.data(), sizeof(int)}};
    exchange.row_bytes = sizeof(int);
    exchange.send_rows = &two[rank];
    exchange.receive_rows = rank == 0 ? &three : &two[1];
    EXPECT_THAT(group_.communicator(rank).Start(exchange)->WaitForArrival(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("internal error")));
  });
  EXPECT_EQ(evenpack::testing::TakeMisuse(),
            "ncclRecv: another count than that of the peer's ncclSend\n");
  fakeCudaReset();
}

// Rows with gaps are packed, for which there is no memory.
TEST_F(NcclPairTest, ARankWithoutMemoryEndsTheGroup) {
  CudaBuffer most = group_.device(0)
                        .memory()
                        ->Take((size_t{1} << 28) - 100, group_.device(0).compute())
                        .value();
  const Ranges gaps = {{}, {{0, 1}, {2, 1}}};
  const Ranges none = {{}, {}};
  Exchange exchange;
  exchange.tensors = {{most.data(), 4, nullptr, 4}};
  exchange.row_bytes = 4;
  exchange.send_rows = &gaps;
  exchange.receive_rows = &none;
  const auto error =
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("256 bytes of the device were asked for where "));
  EXPECT_THAT(group_.communicator(0).Start(exchange)->Wait(), error);
  EXPECT_THAT(Start(0)->Wait(), error);
}

}  // namespace
}  // namespace evenpack::worker
