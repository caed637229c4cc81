#include "gpu_worker/nccl/nccl_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::PassingTime;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class NcclConnectionTest : public evenpack::testing::FakeNcclTest {
 protected:
  static constexpr uint32_t kRanks = 2;

  nccl::UniqueId NewId() {
    nccl::UniqueId id;
    EXPECT_EQ(library_->functions().ncclGetUniqueId(&id), nccl::kSuccess);
    return id;
  }
  absl::StatusOr<std::unique_ptr<NcclConnection>> Connect(const nccl::UniqueId& id,
                                                          uint32_t rank) {
    return NcclConnection::Connect(library_, device_.context(), id, {rank, kRanks},
                                   timing_);
  }
  void ConnectAll() {
    const nccl::UniqueId id = NewId();
    InThreads(kRanks, [&](uint32_t rank) {
      auto connection = Connect(id, rank);
      ASSERT_THAT(connection, IsOk());
      ranks_[rank] = *std::move(connection);
    });
  }
  // A row to the peer and one from it.
  ExchangePlan PlanOf(const CudaBuffer& buffer, uint32_t rank) const {
    ExchangePlan plan;
    plan.sends = {{1 - rank, buffer.data(), 8}};
    plan.receives = {{1 - rank, static_cast<char*>(buffer.data()) + 8, 8}};
    return plan;
  }

  const std::shared_ptr<const NcclLibrary> library_ = Library();
  FakeDevice device_;
  NcclTiming timing_ = Timing();
  std::vector<std::unique_ptr<NcclConnection>> ranks_{kRanks};
};

TEST_F(NcclConnectionTest, ConnectsExchangesAndCloses) {
  for (const int polls : {0, 1, 7}) {
    fakeNcclSetPolls(polls);
    ConnectAll();
    std::vector<CudaBuffer> buffers;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      buffers.push_back(device_.Take(16));
      device_.Write(std::vector<uint64_t>{rank + 5, 0}, buffers.back());
    }
    InThreads(kRanks, [&](uint32_t rank) {
      const auto stream =
          CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
      EXPECT_THAT(ranks_[rank]->Launch(PlanOf(buffers[rank], rank), stream->handle()),
                  IsOk());
      EXPECT_THAT(stream->Synchronize(), IsOk());
      EXPECT_THAT(ranks_[rank]->Check(), IsOk());
      ranks_[rank]->Close();
    });
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(device_.Read<uint64_t>(buffers[rank]),
                (std::vector<uint64_t>{rank + 5, 1 - rank + 5}));
      EXPECT_THAT(ranks_[rank]->Check(),
                  StatusIs(absl::StatusCode::kCancelled, "it was closed"));
    }
  }
}

// NCCL takes a moment to begin anything, from a thread of its own.
TEST_F(NcclConnectionTest, WhatBeginsSoonIsNotSleptFor) {
  fakeNcclSetPolls(50);
  NcclTiming timing = Timing();
  timing.poll_interval = std::chrono::hours(1);
  const auto connection =
      NcclConnection::Connect(library_, device_.context(), NewId(), {0, 1}, timing);
  ASSERT_THAT(connection, IsOk());
  (*connection)->Close();
}

TEST_F(NcclConnectionTest, APeerThatDoesNotComeIsToldOfInTime) {
  const nccl::UniqueId id = NewId();
  const PassingTime time(clock_);
  EXPECT_THAT(
      Connect(id, 1).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               "cp_rank 1 of 2: NCCL failed to connect within 60000 ms: a peer does "
               "not take part"));
}

TEST_F(NcclConnectionTest, AnErrorWhileItConnectsIsTold) {
  fakeNcclFailInit(0, nccl::kSystemError);
  EXPECT_THAT(
      Connect(NewId(), 0).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               "cp_rank 0 of 2: NCCL failed to connect: unhandled system error; the "
               "double's last error"));
  fakeNcclFailInit(0, nccl::kInternalError);
  EXPECT_THAT(Connect(NewId(), 0).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("internal error")));
}

TEST_F(NcclConnectionTest, AnAsynchronousErrorAborts) {
  ConnectAll();
  fakeNcclRaise(0, nccl::kRemoteError);
  const auto error =
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("cp_rank 0 of 2: NCCL failed in an exchange: remote process"));
  EXPECT_THAT(ranks_[0]->Check(), error);
  EXPECT_EQ(fakeNcclLive(), 1U) << "the handle of the rank that failed is gone";
  EXPECT_THAT(ranks_[0]->Check(), error);
  const CudaBuffer buffer = device_.Take(16);
  EXPECT_THAT(ranks_[0]->Launch(PlanOf(buffer, 0), device_.compute()), error);
  EXPECT_THAT(ranks_[1]->Check(), IsOk());
}

TEST_F(NcclConnectionTest, TheFirstReasonOfAnAbortCounts) {
  ConnectAll();
  ranks_[0]->Abort(absl::AbortedError("first"));
  ranks_[0]->Abort(absl::AbortedError("second"));
  EXPECT_THAT(ranks_[0]->Check(), StatusIs(absl::StatusCode::kAborted, "first"));
  ranks_[0]->Close();
  EXPECT_THAT(ranks_[0]->Check(), StatusIs(absl::StatusCode::kAborted, "first"));
}

TEST_F(NcclConnectionTest, AnAbortEndsWhoWaitsForProgress) {
  fakeNcclSetPolls(1);
  ConnectAll();
  // So many that it would never end.
  fakeNcclSetPolls(1 << 30);
  const CudaBuffer buffer = device_.Take(16);
  std::thread other([&] { ranks_[0]->Abort(absl::AbortedError("a rank is gone")); });
  EXPECT_THAT(ranks_[0]->Launch(PlanOf(buffer, 0), device_.compute()),
              StatusIs(absl::StatusCode::kAborted, "a rank is gone"));
  other.join();
}

// Else the memory of what is under way would be given back while NCCL may use it.
TEST_F(NcclConnectionTest, AnAbortOfAnotherThreadIsWaitedFor) {
  fakeNcclSetPolls(1);
  ConnectAll();
  fakeNcclSetPolls(1 << 30);
  fakeNcclHoldAborts(true);
  const CudaBuffer buffer = device_.Take(16);
  std::atomic<bool> released = false;
  std::thread launching([&] {
    EXPECT_THAT(ranks_[0]->Launch(PlanOf(buffer, 0), device_.compute()),
                StatusIs(absl::StatusCode::kAborted, "a rank is gone"));
    EXPECT_TRUE(released);
  });
  const size_t before = fakeNcclAborts();
  std::thread aborting([&] { ranks_[0]->Abort(absl::AbortedError("a rank is gone")); });
  while (fakeNcclAborts() == before) std::this_thread::yield();
  // Time for whoever doesn't wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  released = true;
  fakeNcclHoldAborts(false);
  launching.join();
  aborting.join();
}

// Ranks of a host as processes of their own: NCCL ends none before all of them end.
TEST_F(NcclConnectionTest, WhoEndsDoesNotWaitForPeersOfTheHost) {
  timing_.abort_timeout = NcclTiming().abort_timeout;
  for (const bool aborts : {false, true}) {
    ConnectAll();
    fakeNcclWaitForHost(true);
    const auto end = [aborts](NcclConnection& connection) {
      if (aborts) {
        connection.Abort(absl::AbortedError("a rank is gone"));
      } else {
        connection.Close();
      }
    };
    std::thread first([&] { end(*ranks_[0]); });
    while (fakeNcclEnding() == 0) std::this_thread::yield();
    {
      const PassingTime time(clock_);
      first.join();
    }
    EXPECT_EQ(fakeNcclEnding(), 1U) << "NCCL is not done";
    EXPECT_FALSE(ranks_[0]->Check().ok());
    EXPECT_THAT(ranks_[1]->Check(), IsOk());
    end(*ranks_[1]);
    while (fakeNcclEnding() > 0) std::this_thread::yield();
  }
}

// Whoever comes first: nobody uses the handle any more.
TEST_F(NcclConnectionTest, AbortsFromManyThreadsAreOne) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    ConnectAll();
    InThreads(6, [&](uint32_t thread) {
      if (thread < 4) {
        ranks_[thread % 2]->Abort(absl::AbortedError("a rank is gone"));
      } else {
        while (ranks_[thread - 4]->Check().ok()) std::this_thread::yield();
      }
    });
    EXPECT_EQ(fakeNcclLive(), 0U);
  }
}

}  // namespace
}  // namespace evenpack::worker
