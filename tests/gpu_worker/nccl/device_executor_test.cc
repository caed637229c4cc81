// The executor over devices and NCCL, both doubles: streams, events, memory and aborts
// as there would be, and attention by the engine for the processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/steps/group_executor.h"
#include "tests/gpu_worker/nccl/device_rank.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::DeviceOf;
using evenpack::testing::DeviceRank;
using evenpack::testing::Draw;
using evenpack::testing::FakeDevice;
using evenpack::testing::FakeGroup;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::PassingTime;
using evenpack::testing::StatusIs;
using evenpack::testing::TableMember;
using ::testing::HasSubstr;

constexpr Sharding kShardings[] = {Sharding::kPerSequence, Sharding::kPerDocument,
                                   Sharding::kContiguous, Sharding::kHybrid};

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

class DeviceExecutorTest : public evenpack::testing::FakeNcclTest {
 protected:
  // Forward and backward of a micro-batch on all ranks of a new group.
  AttentionErrors ErrorsOf(const ShardPlan& plan, const AttentionShape& shape,
                           const std::vector<uint32_t>& lengths, uint32_t head_groups) {
    const MadeMicroBatch made(shape, lengths, 3);
    const uint32_t ranks = plan.context_parallel;
    std::vector<RankTensors> tensors;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      tensors.push_back(made.OfRank(plan, rank));
    }
    FakeGroup group(ranks, Library(), Timing());
    InThreads(ranks, [&](uint32_t rank) {
      DeviceRank own(group.device(rank));
      Executor executor(group.communicator(rank), own.engine(),
                        {head_groups, &own.cuda()});
      const PreparedMicroBatch prepared = executor.Prepare(plan, shape).value();
      const auto copy = DeviceTensors::Copy(tensors[rank], own.cuda()).value();
      DeviceTensors& on_device = *copy;
      EXPECT_THAT(RunPasses(executor, prepared, on_device), IsOk());
      EXPECT_THAT(on_device.ReadBack(), IsOk());
    });
    group.LeaveAll();
    return made.Compare(plan, tensors);
  }
};

TEST_F(DeviceExecutorTest, AGroupComputesWhatTheDefinitionSays) {
  const std::vector<uint32_t> lengths = {70, 1, 33, 2, 128, 9};
  for (const Sharding sharding : kShardings) {
    for (const uint32_t ranks : {1U, 2U, 3U, 4U, 8U}) {
      const ShardPlan plan = Planned(sharding, lengths, ranks, 4);
      EXPECT_LT(ErrorsOf(plan, SmallShape(), lengths, 2).Largest(),
                AcceptedError(ElementType::kFloat32))
          << static_cast<int>(sharding) << " " << ranks;
    }
  }
}

TEST_F(DeviceExecutorTest, AnythingThatCanBePlannedIsComputed) {
  std::mt19937_64 random(8);
  for (int repeat = 0; repeat < 40; ++repeat) {
    std::vector<uint32_t> lengths(Draw(random, 1, 6));
    for (uint32_t& length : lengths) length = Draw(random, 1, 50);
    AttentionShape shape = SmallShape();
    shape.type = kElementTypes[Draw(random, 0, 2)];
    shape.kv_heads = Draw(random, 1, 3);
    shape.query_heads = shape.kv_heads * Draw(random, 1, 2);
    shape.sliding_window = Draw(random, 0, 1) * Draw(random, 1, 40);
    const ShardPlan plan = Planned(kShardings[Draw(random, 0, 3)], lengths,
                                   Draw(random, 1, 5), 2 * Draw(random, 0, 3));
    fakeNcclSetPolls(static_cast<int>(Draw(random, 0, 2)));
    ASSERT_LT(ErrorsOf(plan, shape, lengths, Draw(random, 1, 3)).Largest(),
              AcceptedError(shape.type))
        << repeat;
  }
}

TEST_F(DeviceExecutorTest, ADeviceWithoutMemoryEndsTheWorkOfTheGroup) {
  const std::vector<uint32_t> lengths = {64};
  const ShardPlan plan = Planned(Sharding::kPerSequence, lengths, 2);
  const MadeMicroBatch made(SmallShape(), lengths, 3);
  FakeGroup group(2, Library(), Timing());
  fakeNcclTellPeers(true);
  InThreads(2, [&](uint32_t rank) {
    DeviceRank own(group.device(rank));
    RankTensors tensors = made.OfRank(plan, rank);
    const auto copy = DeviceTensors::Copy(tensors, own.cuda()).value();
    const DeviceTensors& on_device = *copy;
    CudaBuffer rest;
    if (rank == 1) {
      rest = own.device().Take((size_t{1} << 28) -
                               own.device().memory()->bytes_in_use() - 10);
    }
    Executor executor(group.communicator(rank), own.engine(), {2, &own.cuda()});
    const PreparedMicroBatch prepared = executor.Prepare(plan, SmallShape()).value();
    absl::Status status =
        executor.Forward(prepared, on_device.input(), on_device.result());
    if (rank == 1) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("of a budget of 268435456 are in use")));
    } else {
      // On a device it shows when the next is begun, or at the step's end.
      while (status.ok()) {
        status = executor.Forward(prepared, on_device.input(), on_device.result());
      }
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("remote process exited")));
    }
    own.device().Synchronize();
  });
}

// A rank of a group that forms anew, as a trainer has it.
class SteppingRank {
 public:
  SteppingRank(GroupTable& table, const std::shared_ptr<const NcclLibrary>& library,
               const NcclTiming& timing, const NcclSeat& seat)
      : seat_(seat),
        rendezvous_(
            std::make_unique<TableMember>(
                table, GroupSeat{0, seat.ranks, seat.rank,
                                 absl::StrCat("process", seat.rank)}),
            [library,
             options = NcclOptions{seat, timing, DeviceOf(device_), kFakeImage}] {
              return OpenNcclEndpoint(library, options);
            },
            kPatience),
        executor_(rendezvous_, own_.engine(), {2, &own_.cuda()}) {}

  // All of a step, as often as it takes; how often.
  int Execute(uint64_t step, const MadeMicroBatch& made, const ShardPlan& plan) {
    const PreparedMicroBatch prepared =
        PrepareMicroBatch(plan, seat_.rank, SmallShape());
    for (int attempt = 1;; ++attempt) {
      RankTensors tensors = made.OfRank(plan, seat_.rank);
      const auto copy = DeviceTensors::Copy(tensors, own_.cuda()).value();
      DeviceTensors& on_device = *copy;
      absl::Status status = Compute(step, prepared, on_device);
      EXPECT_THAT(on_device.ReadBack(), IsOk());
      if (status.ok()) {
        // Whoever was let out of a step has computed it rightly.
        EXPECT_LT(made.Compare(plan, seat_.rank, tensors).Largest(),
                  AcceptedError(ElementType::kFloat32))
            << "rank " << seat_.rank << ", step " << step;
        return attempt;
      }
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                                   HasSubstr(absl::StrCat("step ", step, " "))));
      if (!absl::IsAborted(status)) return attempt;
    }
  }
  absl::Status BeginStep(uint64_t step) { return executor_.BeginStep(step); }
  absl::Status EndStep() { return executor_.EndStep(); }
  // Until the peers have heard that this rank has executed all steps.
  void End(uint64_t step) {
    absl::Status status;
    do {
      status = executor_.BeginStep(step);
      if (status.ok()) status = executor_.EndStep();
    } while (absl::IsAborted(status));
    EXPECT_THAT(status, IsOk());
  }

 private:
  absl::Status Compute(uint64_t step, const PreparedMicroBatch& prepared,
                       const DeviceTensors& of) {
    absl::Status status = executor_.BeginStep(step);
    if (status.ok()) status = RunPasses(executor_, prepared, of);
    return status.ok() ? executor_.EndStep() : status;
  }

  // For peers that are gone.
  static constexpr std::chrono::seconds kPatience{20};

  const NcclSeat seat_;
  FakeDevice device_;
  DeviceRank own_{device_};
  GroupRendezvous rendezvous_;
  GroupExecutor executor_;
};

// Its last message is under way in its NCCL alone: that all have executed the step.
TEST_F(DeviceExecutorTest, PeersHaveWhatARankSentThatHasLeft) {
  constexpr uint32_t kRanks = 3;
  const auto library = Library();
  GroupTable table;
  std::vector<std::unique_ptr<SteppingRank>> all;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    all.push_back(std::make_unique<SteppingRank>(table, library, Timing(),
                                                 NcclSeat{rank, kRanks}));
  }
  fakeNcclTellPeers(true);
  const size_t aborts = fakeNcclAborts();
  InThreads(kRanks,
            [&](uint32_t rank) { EXPECT_THAT(all[rank]->BeginStep(1), IsOk()); });
  fakeNcclBuffer(1);
  InThreads(kRanks, [&](uint32_t rank) {
    EXPECT_THAT(all[rank]->EndStep(), IsOk());
    all[rank] = nullptr;
  });
  EXPECT_EQ(fakeNcclAborts(), aborts);
}

// Peers are told at once, and don't wait for what it would send.
TEST_F(DeviceExecutorTest, WhoLeavesWithinAStepAbortsIt) {
  const auto library = Library();
  GroupTable table;
  std::vector<std::unique_ptr<SteppingRank>> all;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    all.push_back(
        std::make_unique<SteppingRank>(table, library, Timing(), NcclSeat{rank, 2}));
  }
  const size_t aborts = fakeNcclAborts();
  InThreads(2, [&](uint32_t rank) { EXPECT_THAT(all[rank]->BeginStep(1), IsOk()); });
  all[0] = nullptr;
  EXPECT_EQ(fakeNcclAborts(), aborts + 1);
}

// Peers of the host hear of it through the server, though NCCL ends no rank before
// them.
TEST_F(DeviceExecutorTest, WhoLeavesWithinAStepDoesNotWaitForPeersOfTheHost) {
  const auto library = Library();
  NcclTiming timing = Timing();
  timing.exchange_timeout = std::chrono::hours(10000);
  timing.abort_timeout = NcclTiming().abort_timeout;
  const PassingTime time(clock_);
  GroupTable table;
  const auto open = [&](uint32_t rank) {
    return std::make_unique<SteppingRank>(table, library, timing, NcclSeat{rank, 2});
  };
  std::vector<std::unique_ptr<SteppingRank>> all;
  for (uint32_t rank = 0; rank < 2; ++rank) all.push_back(open(rank));
  fakeNcclWaitForHost(true);
  for (const bool within_a_step : {true, false}) {
    InThreads(2, [&](uint32_t rank) {
      EXPECT_THAT(all[rank]->BeginStep(1), IsOk());
      if (within_a_step) return;
      EXPECT_THAT(all[rank]->EndStep(), IsOk());
    });
    all[0] = nullptr;
    // Its trainer comes again.
    all[0] = open(0);
    const MadeMicroBatch made(SmallShape(), {30, 1, 12}, 5);
    const ShardPlan plan = Planned(Sharding::kPerDocument, made.lengths(), 2);
    InThreads(2, [&](uint32_t rank) { all[rank]->Execute(2, made, plan); });
  }
  InThreads(2, [&](uint32_t rank) { all[rank] = nullptr; });
}

// NCCL finds errors at any time, of any rank; every step is executed rightly by all.
TEST_F(DeviceExecutorTest, WhateverFailsEachStepIsExecutedByAll) {
  constexpr uint64_t kSteps = 6;
  const auto library = Library();
  NcclTiming timing = Timing();
  // Whose peer failed while it connected must run out of time, and nobody else.
  timing.connect_timeout = std::chrono::hours(10);
  timing.exchange_timeout = std::chrono::hours(10000);
  timing.abort_timeout = NcclTiming().abort_timeout;
  const PassingTime time(clock_);
  int redone = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    fakeNcclTellPeers(seed % 2 == 0);
    fakeNcclWaitForHost(seed % 4 >= 2);
    const auto ranks = static_cast<uint32_t>(2 + seed % 3);
    const MadeMicroBatch made(SmallShape(), {30, 1, 12}, seed);
    const ShardPlan plan = Planned(kShardings[seed % 4], made.lengths(), ranks);
    GroupTable table;
    std::vector<std::unique_ptr<SteppingRank>> all;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      all.push_back(std::make_unique<SteppingRank>(table, library, timing,
                                                   NcclSeat{rank, ranks}));
    }
    std::atomic<int> attempts = 0;
    InThreads(ranks, [&](uint32_t rank) {
      std::mt19937_64 random(seed * 100 + rank);
      for (uint64_t step = 0; step < kSteps; ++step) {
        if (Draw(random, 0, 3) == 0) {
          fakeNcclRaise(static_cast<int>(Draw(random, 0, ranks - 1)),
                        nccl::kRemoteError);
        }
        attempts += all[rank]->Execute(step, made, plan);
      }
      all[rank]->End(kSteps);
    });
    redone += attempts - static_cast<int>(ranks * kSteps);
    // Side by side, since a rank that leaves waits for what its peers are sent.
    InThreads(ranks, [&](uint32_t rank) { all[rank] = nullptr; });
    if (HasFailure()) return;
  }
  EXPECT_GT(redone, 20) << "nothing failed";
}

}  // namespace
}  // namespace evenpack::worker
