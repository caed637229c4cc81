// Attention on a device, against the definition: docs/gpu-checks.md. Skipped where
// there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_graph.h"
#include "gpu_worker/cuda/device_group.h"
#include "gpu_worker/cudnn/cudnn_planner.h"
#include "gpu_worker/selftest/device_cases.h"
#include "tests/gpu_worker/cuda/real_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RealDevice;

constexpr uint32_t kMostRanks = 8;
constexpr size_t kGraphs = 1024;
// Of random micro-batches, so that few are left to runs by themselves.
constexpr size_t kLeastGraphs = 100;

class AttentionGpuCheck : public ::testing::Test {
 protected:
  bool HasDevice(const CudnnOptions& attention = {}) {
    return Open({.attention = attention});
  }
  bool Open(const CudaRankOptions& options) {
    auto cases = DeviceCases::Open(options, kMostRanks);
    why_ = cases.status();
    if (cases.ok()) cases_ = *std::move(cases);
    return why_.ok();
  }
  // Forward and backward on all ranks of a new group.
  AttentionErrors ErrorsOf(const SelftestCase& of) {
    const auto errors =
        cases_->Runner()(of, MadeMicroBatch(of.shape, of.lengths, /*seed=*/3));
    EXPECT_THAT(errors, IsOk()) << of.Text();
    return errors.value_or(AttentionErrors());
  }

  // Of random micro-batches.
  absl::Status Selftest(uint64_t seed, uint64_t cases, uint32_t max_ranks) {
    SelftestOptions options;
    options.seed = seed;
    options.cases = cases;
    options.max_ranks = max_ranks;
    options.types = {ElementType::kBfloat16, ElementType::kFloat16};
    options.accepted = AcceptedErrorOfCudnn;
    SelftestReport report;
    return RunSelftest(
        options, cases_->Runner(), [](uint64_t) {}, report);
  }

  void ExpectGraphsAreRight() {
    for (const uint64_t seed : {1U, 2U, 3U}) {
      EXPECT_THAT(Selftest(seed, /*cases=*/20, /*max_ranks=*/3), IsOk())
          << "runs " << cases_->first_errors().Largest() << ", graphs "
          << cases_->last_errors().Largest();
    }
    EXPECT_GE(cases_->graphs(), kLeastGraphs);
  }

  absl::Status why_;
  std::unique_ptr<DeviceCases> cases_;
};

SelftestCase SmallCase() {
  SelftestCase small;
  small.shape.type = ElementType::kBfloat16;
  small.shape.query_heads = 4;
  small.shape.kv_heads = 2;
  small.shape.head_size = 128;
  small.head_groups = 2;
  return small;
}

// As they are given to plans for a device that isn't there.
TEST(CudnnGpuCheck, PlansAreBuiltByWhatTheDeviceIsSaidToBe) {
  const auto device = RealDevice::Open(0);
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto properties = CudnnDeviceProperties(device->context);
  if (!properties.ok()) GTEST_SKIP() << properties.status();
  PlanShape shape;
  shape.attention = SmallCase().shape;
  shape.queries = 128;
  shape.keys = 128;
  shape.query_stride = int64_t{4} * 128;
  shape.key_stride = int64_t{2} * 128;
  shape.log_sum_exp_stride = 4;
  EXPECT_THAT(CheckCudnnPlan(shape, *properties), IsOk()) << *properties;
}

TEST_F(AttentionGpuCheck, AGroupComputesWhatTheDefinitionSays) {
  if (!HasDevice()) GTEST_SKIP() << why_;
  SelftestCase of = SmallCase();
  of.lengths = {70, 1, 33, 2, 128, 9, 700};
  of.pad_to = 4;
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument,
                                  Sharding::kContiguous, Sharding::kHybrid}) {
    of.sharding = sharding;
    for (const uint32_t ranks : {1U, 2U, 3U, 4U, 8U}) {
      of.context_parallel = ranks;
      EXPECT_LT(ErrorsOf(of).Largest(), AcceptedErrorOfCudnn(of.shape.type))
          << of.Text();
    }
  }
}

TEST_F(AttentionGpuCheck, HeadsMayHaveAnySizeThatIsAccepted) {
  if (!HasDevice()) GTEST_SKIP() << why_;
  SelftestCase of = SmallCase();
  of.lengths = {300, 20, 1, 90};
  of.sharding = Sharding::kPerDocument;
  of.context_parallel = 2;
  for (const ElementType type : {ElementType::kBfloat16, ElementType::kFloat16}) {
    for (const uint32_t head_size : {64U, 128U, 192U, 256U}) {
      of.shape.type = type;
      of.shape.head_size = head_size;
      EXPECT_LT(ErrorsOf(of).Largest(), AcceptedErrorOfCudnn(type)) << of.Text();
    }
  }
}

TEST_F(AttentionGpuCheck, LongSlicesTakeTwoRunsBackward) {
  if (!HasDevice({.split_from = 1})) GTEST_SKIP() << why_;
  SelftestCase of = SmallCase();
  of.lengths = {700, 20, 1, 2, 300, 1300};
  of.sharding = Sharding::kPerDocument;
  for (const uint32_t ranks : {1U, 2U, 4U}) {
    of.context_parallel = ranks;
    EXPECT_LT(ErrorsOf(of).Largest(), AcceptedErrorOfCudnn(of.shape.type)) << of.Text();
  }
}

// Of a bound that is too small for any run: query heads that share a KV head are
// computed by themselves.
TEST_F(AttentionGpuCheck, AnythingThatCanBePlannedIsComputed) {
  if (!HasDevice({.split_from = 40, .most_workspace = 1 << 20})) GTEST_SKIP() << why_;
  EXPECT_THAT(Selftest(/*seed=*/8, /*cases=*/12, kMostRanks), IsOk());
}

// Whatever it was: docs/adr/0082-cudnn-before-9-18-is-refused.md.
TEST_F(AttentionGpuCheck, WhatTheMemoryOfRunsHeldDoesNotMatter) {
  if (!HasDevice({.kept_workspace = 0})) GTEST_SKIP() << why_;
  for (const uint64_t seed : {11U, 12U}) {
    EXPECT_THAT(Selftest(seed, /*cases=*/20, /*max_ranks=*/3), IsOk());
  }
}

// Disabled until they pass: docs/adr/0080-graphs-of-runs-wait.md. The first is what
// graphs would be; where it fails, which of the others does tells why:
// docs/adr/0090-what-else-a-graph-may-lack.md.
TEST_F(AttentionGpuCheck, DISABLED_GraphsComputeWhatTheirRunsDo) {
  CudnnOptions attention;
  attention.graphs.graphs = kGraphs;
  if (!HasDevice(attention)) GTEST_SKIP() << why_;
  ExpectGraphsAreRight();
}

// All contexts of a process and device are one, and so are their addresses.
TEST_F(AttentionGpuCheck, DISABLED_GraphsDoSoWithFillsBetweenTheirKernels) {
  const auto device = RealDevice::Open(0);
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto filled = device->Holding(std::vector<uint32_t>(1));
  CudnnOptions attention;
  attention.graphs.graphs = kGraphs;
  attention.graphs.filled = filled->data();
  if (!HasDevice(attention)) GTEST_SKIP() << why_;
  ExpectGraphsAreRight();
  cases_ = nullptr;
}

// A captured run has a workspace that no other has.
class ApartPlan final : public AttentionPlan {
 public:
  ApartPlan(std::unique_ptr<AttentionPlan> plan, const RealDevice& device)
      : plan_(std::move(plan)), device_(device) {}

  size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                   void* workspace, cuda::Stream stream) override {
    if (CheckIsNotCaptured(*device_.context, stream).ok()) {
      return plan_->Run(tables, tensors, workspace, stream);
    }
    auto own = device_.device->Allocate(workspace_bytes());
    EXPECT_THAT(own, IsOk());
    if (!own.ok()) return own.status();
    kept_.push_back(*std::move(own));
    absl::Status status = device_.compute->Synchronize();
    return status.ok() ? plan_->Run(tables, tensors, kept_.back()->data(), stream)
                       : status;
  }

 private:
  const std::unique_ptr<AttentionPlan> plan_;
  const RealDevice& device_;
  std::vector<std::unique_ptr<DeviceMemory>> kept_;
};

class ApartPlanner final : public AttentionPlanner {
 public:
  ApartPlanner(std::unique_ptr<AttentionPlanner> planner, const RealDevice& device)
      : planner_(std::move(planner)), device_(device) {}

  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    auto plan = planner_->Build(shape);
    if (!plan.ok()) return plan.status();
    return std::make_unique<ApartPlan>(*std::move(plan), device_);
  }

 private:
  const std::unique_ptr<AttentionPlanner> planner_;
  const RealDevice& device_;
};

TEST_F(AttentionGpuCheck, DISABLED_GraphsDoSoWithWorkspacesOfTheirOwn) {
  const auto device = RealDevice::Open(0, size_t{32} << 30);
  if (!device.ok()) GTEST_SKIP() << device.status();
  CudaRankOptions options;
  options.attention.graphs.graphs = kGraphs;
  options.open_planner = [&](std::shared_ptr<const CudaContext> context)
      -> absl::StatusOr<std::unique_ptr<AttentionPlanner>> {
    auto planner = OpenCudnn(std::move(context));
    if (!planner.ok()) return planner.status();
    return std::make_unique<ApartPlanner>(*std::move(planner), *device);
  };
  if (!Open(options)) GTEST_SKIP() << why_;
  ExpectGraphsAreRight();
  cases_ = nullptr;
}

// As if there were a network, on the device's own clock.
TEST(DeviceGroupGpuCheck, ExchangesTakeAsLongAsTheirNetworkWould) {
  if (std::getenv("EVENPACK_CUDA_DRIVER") != nullptr) {
    GTEST_SKIP() << "a double of the driver keeps no time";
  }
  std::vector<RealDevice> devices;
  std::vector<CudaWorkplace> places;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    absl::StatusOr<RealDevice> device = RealDevice::Open(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    places.push_back({device->context, device->memory, device->compute->handle()});
    devices.push_back(*std::move(device));
  }
  LocalGroupOptions options;
  options.bytes_per_second = 1e9;
  const auto group = DeviceGroup::Create(std::move(places), options).value();
  constexpr size_t kBytes = size_t{20} << 20;
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const std::vector<int> numbers(2 * kBytes / sizeof(int), static_cast<int>(rank));
      const auto rows = devices[rank].Holding(numbers);
      std::vector<std::vector<RowRange>> send(2);
      std::vector<std::vector<RowRange>> receive(2);
      send[1 - rank] = {{0, kBytes / 512}};
      receive[1 - rank] = {{kBytes / 512, kBytes / 512}};
      Exchange exchange;
      exchange.tensors = {{rows->data(), 512, rows->data(), 512}};
      exchange.row_bytes = 512;
      exchange.send_rows = &send;
      exchange.receive_rows = &receive;
      const auto begun = std::chrono::steady_clock::now();
      EXPECT_THAT(group->OfRank(rank).Start(exchange)->WaitForArrival(), IsOk());
      EXPECT_GE(std::chrono::steady_clock::now() - begun,
                std::chrono::milliseconds(20));
      const std::vector<int> read = devices[rank].Read<int>(*rows, numbers.size());
      EXPECT_EQ(read.front(), static_cast<int>(rank));
      EXPECT_EQ(read.back(), static_cast<int>(1 - rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace evenpack::worker
