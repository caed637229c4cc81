// The engine over doubles of a device and of its plans, in groups that share the
// device.
#include "gpu_worker/cudnn/cudnn_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/cuda/cuda_device.h"
#include "gpu_worker/cuda/device_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "gpu_worker/selftest/selftest.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/gpu_worker/cudnn/fake_planner.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::FakePlan;
using evenpack::testing::FakePlanner;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using evenpack::testing::WaitsFor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A rank that is a thread.
class Rank {
 public:
  explicit Rank(const CudnnOptions& options)
      : device_(CudaDevice::Create(fake_.context(), fake_.memory(), fake_.compute(),
                                   kFakeImage)
                    .value()),
        engine_(CudnnAttention::Create(
                    where(), std::make_unique<FakePlanner>(fake_.context(), &plans_),
                    options, kFakeImage)
                    .value()) {}
  ~Rank() { fake_.Synchronize(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  CudaWorkplace where() const {
    return {fake_.context(), fake_.memory(), fake_.compute()};
  }
  CudnnAttention& engine() { return *engine_; }
  CudaDevice& device() { return *device_; }
  // That were built.
  const std::vector<PlanShape>& plans() const { return plans_; }

  absl::Status Run(Communicator& communicator, const ShardPlan& plan,
                   const SelftestCase& of, RankTensors& tensors) {
    Executor executor(communicator, *engine_, {of.head_groups, device_.get()});
    const PreparedMicroBatch prepared = executor.Prepare(plan, of.shape).value();
    const auto on_device = DeviceTensors::Copy(tensors, *device_).value();
    absl::Status status = RunPasses(executor, prepared, *on_device);
    return status.ok() ? on_device->ReadBack() : status;
  }

 private:
  FakeDevice fake_;
  std::vector<PlanShape> plans_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<CudnnAttention> engine_;
};

class CudnnAttentionTest : public evenpack::testing::FakeDeviceTest {
 protected:
  // Of new ranks, or of those that are there.
  absl::StatusOr<AttentionErrors> Run(const SelftestCase& of,
                                      const MadeMicroBatch& made) {
    const ShardPlan plan = of.Plan();
    std::vector<RankTensors> tensors;
    std::vector<CudaWorkplace> places;
    for (uint32_t rank = 0; rank < of.context_parallel; ++rank) {
      if (rank == ranks_.size()) ranks_.push_back(std::make_unique<Rank>(options_));
      tensors.push_back(made.OfRank(plan, rank));
      places.push_back(ranks_[rank]->where());
    }
    const auto group = DeviceGroup::Create(std::move(places), {}, kFakeImage).value();
    std::vector<absl::Status> statuses(of.context_parallel);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < of.context_parallel; ++rank) {
      threads.emplace_back([&, rank] {
        statuses[rank] =
            ranks_[rank]->Run(group->OfRank(rank), plan, of, tensors[rank]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& status : statuses) {
      if (!status.ok()) return status;
    }
    return made.Compare(plan, tensors);
  }

  CudnnOptions options_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(CudnnAttentionTest, AnythingThatCanBePlannedIsComputed) {
  SelftestOptions selftest;
  selftest.cases = 12;
  selftest.max_ranks = 4;
  selftest.max_length = 16;
  selftest.types = {ElementType::kBfloat16, ElementType::kFloat16};
  for (const CudnnOptions& options :
       {CudnnOptions{}, CudnnOptions{.split_from = 1},
        CudnnOptions{.split_from = 8, .most_workspace = 1}}) {
    options_ = options;
    ranks_.clear();
    SelftestReport report;
    EXPECT_THAT(RunSelftest(
                    selftest,
                    [this](const SelftestCase& of, const MadeMicroBatch& made) {
                      return Run(of, made);
                    },
                    [](uint64_t) {}, report),
                IsOk());
  }
  ranks_.clear();
}

TEST_F(CudnnAttentionTest, PlansAreBuiltOnceForCallsOfLikeSize) {
  SelftestCase of;
  of.shape.type = ElementType::kBfloat16;
  of.lengths = {40, 9};
  const MadeMicroBatch made(of.shape, of.lengths, 1);
  EXPECT_THAT(Run(of, made), IsOk());
  const size_t plans = ranks_[0]->engine().plans();
  EXPECT_GT(plans, 1U);
  SelftestCase other = of;
  other.lengths = {41, 8};
  EXPECT_THAT(Run(other, MadeMicroBatch(of.shape, other.lengths, 1)), IsOk());
  EXPECT_EQ(ranks_[0]->engine().plans(), plans);
  ranks_.clear();
}

// Beside the tables, which are of the plans.
TEST_F(CudnnAttentionTest, WhatARunTakesIsKeptOrGivenBack) {
  SelftestCase of;
  of.shape.type = ElementType::kBfloat16;
  of.lengths = {40, 9};
  const MadeMicroBatch made(of.shape, of.lengths, 1);
  size_t left[2];
  size_t most = 0;
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    options_.kept_workspace = kept * (size_t{1} << 30);
    ranks_.clear();
    EXPECT_THAT(Run(of, made), IsOk());
    left[kept] = ranks_[0]->where().memory->bytes_in_use();
    for (const PlanShape& plan : ranks_[0]->plans()) {
      most = std::max(most, FakePlan::WorkspaceBytes(plan));
    }
  }
  EXPECT_EQ(left[1], left[0] + most);
  ranks_.clear();
}

// Two of five KV heads are within the bound, then two more, and the last. Of a rank's
// own keys, and of received ones in two groups of heads. The double of a plan finds
// pointers that aren't aligned: of the sums of 3 or 6 among 15 heads, say.
TEST_F(CudnnAttentionTest, HeadsAreComputedInPartsThatTakeNoMoreThanTheBound) {
  SelftestCase of;
  of.shape.type = ElementType::kBfloat16;
  of.shape.query_heads = 15;
  of.shape.kv_heads = 5;
  of.lengths = {40, 9, 31};
  constexpr uint64_t kQueries = uint64_t{128} * (15 * 64 + 15) * 4;
  constexpr uint64_t kKeysOfOneHead = uint64_t{2} * 128 * 3 * 64 * 4;
  options_.most_workspace = kQueries + 2 * kKeysOfOneHead + kKeysOfOneHead / 2;
  for (const uint32_t ranks : {1U, 2U}) {
    of.context_parallel = of.head_groups = ranks;
    ranks_.clear();
    const auto errors = Run(of, MadeMicroBatch(of.shape, of.lengths, 1));
    ASSERT_THAT(errors, IsOk());
    EXPECT_LT(errors->Largest(), AcceptedError(of.shape.type));
    std::set<uint32_t> heads;
    for (const PlanShape& plan : ranks_[0]->plans()) {
      if (plan.pass == Pass::kForward) continue;
      EXPECT_EQ(plan.log_sum_exp_stride, plan.attention.query_heads);
      EXPECT_LE(FakePlan::WorkspaceBytes(plan), options_.most_workspace);
      heads.insert(plan.attention.kv_heads);
    }
    EXPECT_THAT(heads, ElementsAre(1, 2));
  }
  ranks_.clear();
}

// A trainer's lie where a number may; the double of a plan finds what isn't aligned.
TEST_F(CudnnAttentionTest, SumsThatDoNotLieAsATensorsRowsAreCopied) {
  Rank rank(options_);
  LocalGroup alone(1);
  Executor executor(alone.OfRank(0), rank.engine(), {.device = &rank.device()});
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  const std::vector<uint32_t> lengths = {40, 9};
  const ShardPlan plan = Planned(Sharding::kContiguous, lengths, 1);
  const PreparedMicroBatch prepared = executor.Prepare(plan, shape).value();
  const MadeMicroBatch made(shape, lengths, 1);
  RankTensors tensors = made.OfRank(plan, 0);
  const auto on_device = DeviceTensors::Copy(tensors, rank.device()).value();
  const auto memory =
      rank.device().Allocate((49 * shape.query_heads + 1) * sizeof(float)).value();
  AttentionOutput result = on_device->result();
  result.log_sum_exp = static_cast<float*>(memory->data()) + 1;
  EXPECT_THAT(executor.Forward(prepared, on_device->input(), result), IsOk());
  EXPECT_THAT(executor.Backward(prepared, on_device->input(), result,
                                on_device->output_gradient(), on_device->gradients()),
              IsOk());
  EXPECT_THAT(on_device->ReadBack(), IsOk());
  const AttentionErrors errors = made.Compare(plan, 0, tensors);
  for (const double error :
       {errors.query_gradient, errors.key_gradient, errors.value_gradient}) {
    EXPECT_LT(error, AcceptedError(shape.type));
  }
}

// Its plans go with it, and the code of kernels.
TEST_F(CudnnAttentionTest, ItsEndWaitsForItsRuns) {
  FakeDevice device;
  auto engine = CudnnAttention::Create(
                    {device.context(), device.memory(), device.compute()},
                    std::make_unique<FakePlanner>(device.context()), {}, kFakeImage)
                    .value();
  StreamGate gate;
  gate.Close(*device.context(), device.compute());
  EXPECT_TRUE(WaitsFor(gate, [&] { engine = nullptr; }));
}

// What a run takes is of the queries' rows, which are as wide for one head.
TEST_F(CudnnAttentionTest, PartsThatTakeNoLessAreNotMade) {
  SelftestCase of;
  of.shape.type = ElementType::kBfloat16;
  of.shape.query_heads = of.shape.kv_heads = 4;
  of.lengths = {40, 9};
  options_.most_workspace = 1;
  EXPECT_THAT(Run(of, MadeMicroBatch(of.shape, of.lengths, 1)), IsOk());
  for (const PlanShape& plan : ranks_[0]->plans()) {
    EXPECT_EQ(plan.attention.kv_heads, 4U);
  }
  ranks_.clear();
}

// A graph is known by its addresses: what comes there next are other documents.
TEST_F(CudnnAttentionTest, CallsWhoseTensorsLieWhereOthersLayAreGraphs) {
  options_.graphs.graphs = 16;
  Rank rank(options_);
  LocalGroup alone(1);
  Executor executor(alone.OfRank(0), rank.engine(), {.device = &rank.device()});
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  RankTensors tensors;
  std::unique_ptr<DeviceTensors> on_device;
  uint64_t seed = 0;
  for (const std::vector<uint32_t>& lengths :
       std::vector<std::vector<uint32_t>>{{40, 9}, {30, 19}, {49}, {9, 40}, {40, 9}}) {
    const ShardPlan plan = Planned(Sharding::kContiguous, lengths, 1);
    const PreparedMicroBatch prepared = executor.Prepare(plan, shape).value();
    const MadeMicroBatch made(shape, lengths, ++seed);
    tensors = made.OfRank(plan, 0);
    if (on_device == nullptr) {
      on_device = DeviceTensors::Copy(tensors, rank.device()).value();
    }
    // Layers, say.
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(on_device->CopyAgain(), IsOk());
      EXPECT_THAT(RunPasses(executor, prepared, *on_device), IsOk());
      tensors = made.OfRank(plan, 0);
      EXPECT_THAT(on_device->ReadBack(), IsOk());
      EXPECT_LT(made.Compare(plan, 0, tensors).Largest(), AcceptedError(shape.type));
      tensors = made.OfRank(plan, 0);
    }
  }
  EXPECT_GT(rank.engine().graphs(), 0U);
}

class PlannerWithoutBackward final : public AttentionPlanner {
 public:
  absl::Status CheckShape(const AttentionShape& shape) override {
    return shape.head_size > 128 ? absl::InvalidArgumentError("no backward kernel")
                                 : absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(const PlanShape&) override {
    return absl::InternalError("it was asked for a plan");
  }
};

TEST_F(CudnnAttentionTest, WhatHasNoBackwardKernelIsRefusedForward) {
  FakeDevice device;
  const auto engine =
      CudnnAttention::Create({device.context(), device.memory(), device.compute()},
                             std::make_unique<PlannerWithoutBackward>(), {}, kFakeImage)
          .value();
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, "no backward kernel");
  AttentionCall call;
  call.shape.type = ElementType::kBfloat16;
  EXPECT_THAT(engine->CheckShape(call.shape), IsOk());
  call.shape.head_size = 192;
  EXPECT_THAT(engine->CheckShape(call.shape), refused);
  EXPECT_THAT(engine->Forward(call, {}), refused);
}

TEST_F(CudnnAttentionTest, SinglePrecisionIsRefused) {
  Rank rank(options_);
  AttentionCall call;
  EXPECT_THAT(rank.engine().Forward(call, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("accepted: bfloat16 or float16 on a CUDA device")));
}

}  // namespace
}  // namespace evenpack::worker
