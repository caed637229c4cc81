// Sidecars on a device and their trainers, through their sockets and memory that both
// map: over doubles of the driver, of NCCL and of cuDNN's plans.
#include "gpu_worker/sidecar/cuda_sidecar_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/device_arena/device_arena.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/service/worker_service.h"
#include "gpu_worker/sidecar_client/sidecar_worker.h"
#include "gpu_worker/sidecar_client/trainer_streams.h"
#include "tests/gpu_worker/cudnn/fake_planner.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rank_form/form_on_doubles.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeNcclTest;
using evenpack::testing::FakePlanner;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::PretendedJob;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

// The job's.
constexpr uint32_t kRanks = 2;
constexpr uint64_t kSteps = 3;
constexpr uint64_t kMemory = 1 << 24;
constexpr uint64_t kArena = 1 << 23;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

// Runs of plans are counted when they are given to the device, which may be held up.
class HeldRuns {
 public:
  void Hold() { open_ = false; }
  void Open() {
    open_ = true;
    open_.notify_all();
  }
  int given() const { return given_; }
  void AwaitGiven(int runs) const {
    while (given_ < runs) std::this_thread::yield();
  }
  void Put(const CudaContext& context, cuda::Stream stream) {
    const CurrentContext current(context);
    context.functions().cuLaunchHostFunc(
        stream, [](void* runs) { static_cast<HeldRuns*>(runs)->open_.wait(false); },
        this);
    ++given_;
  }

 private:
  std::atomic<bool> open_ = true;
  std::atomic<int> given_ = 0;
};

class HeldPlanner final : public AttentionPlanner {
 public:
  HeldPlanner(std::shared_ptr<const CudaContext> context, HeldRuns& runs)
      : context_(context), runs_(runs), planner_(std::move(context)) {}

  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    return std::make_unique<Plan>(context_, runs_, planner_.Build(shape).value());
  }

 private:
  class Plan final : public AttentionPlan {
   public:
    Plan(std::shared_ptr<const CudaContext> context, HeldRuns& runs,
         std::unique_ptr<AttentionPlan> plan)
        : context_(std::move(context)), runs_(runs), plan_(std::move(plan)) {}
    size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
    absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                     void* workspace, cuda::Stream stream) override {
      runs_.Put(*context_, stream);
      return plan_->Run(tables, tensors, workspace, stream);
    }

   private:
    const std::shared_ptr<const CudaContext> context_;
    HeldRuns& runs_;
    const std::unique_ptr<AttentionPlan> plan_;
  };

  const std::shared_ptr<const CudaContext> context_;
  HeldRuns& runs_;
  FakePlanner planner_;
};

CudaFormOptions OnDoubles(const NcclTiming& timing) {
  return {.rank = RankOnDoubles(), .group = timing, .nccl = EVENPACK_FAKE_NCCL};
}

// A worker's process, but in this one.
class Worker {
 public:
  Worker(PretendedJob& job, const CudaFormOptions& form) {
    WorkerServerOptions options;
    options.socket_folder = folder_.path();
    options.trainer_user = geteuid();
    options.sidecar.form = CudaSidecarForm::Open(form).value();
    options.sidecar.memory_bytes = kMemory;
    server_ = WorkerServer::Start(job.client(), options).value();
  }

  const std::string& folder() const { return folder_.path(); }
  SidecarStatus status() const { return server_->status(); }

 private:
  const ScratchDirectory folder_;
  std::unique_ptr<WorkerServer> server_;
};

// A rank's trainer, whose stream has what comes before and after each pass.
class Trainer {
 public:
  Trainer(const std::string& folder, const PretendedJob& job, uint32_t rank)
      : job_(job), rank_(rank) {
    const auto driver = CudaDriver::Load(EVENPACK_FAKE_CUDA).value();
    SidecarWorkerOptions options;
    options.socket_folder = folder;
    options.arena_bytes = kArena;
    options.map = MapOnDevice(driver);
    options.job = "job";
    options.cp_rank = rank;
    options.member = absl::StrCat("m", rank);
    options.shape = SmallShape();
    auto worker = SidecarWorker::Open(options);
    EXPECT_THAT(worker, IsOk());
    worker_ = *std::move(worker);
    context_ = CudaContext::Open(driver, worker_->arena().header().device).value();
    stream_ = CudaStream::Create(context_, CudaStream::Priority::kLeast).value();
    streams_ = TrainerStreams::Create(*worker_, context_).value();
  }
  ~Trainer() { EXPECT_THAT(stream_->Synchronize(), IsOk()); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Forward passes over a micro-batch of the step: `between` is called when the
  // first is done, `then` when the others are enqueued.
  void ExecuteLayers(uint64_t step, const std::function<void()>& between,
                     const std::function<void()>& then) {
    const client::RankStep of = job_.Step(step);
    const client::MicroBatchView& view = of.micro_batches()[1];
    ASSERT_THAT(worker_->BeginStep(step), IsOk());
    Placed placed = Made(view, step);
    const ArenaTensors at = Place(placed);
    const auto forward = [&] {
      return worker_->Forward(step, view.index(), RowsOf(view), at, ready_).value();
    };
    ASSERT_THAT(worker_->Wait(forward()), IsOk());
    between();
    forward();
    forward();
    then();
    ASSERT_THAT(worker_->Wait(worker_->EndStep(step).value()), IsOk());
  }

  // All of the step is enqueued before anything of it is waited for.
  void Execute(uint64_t step) {
    const client::RankStep of = job_.Step(step);
    ASSERT_THAT(worker_->BeginStep(step), IsOk());
    std::deque<Placed> placed;
    for (const client::MicroBatchView& view : of.micro_batches()) {
      placed.push_back(Made(view, step));
      Submit(step, view, placed.back());
    }
    const auto end = worker_->EndStep(step);
    ASSERT_THAT(end, IsOk());
    ASSERT_THAT(worker_->Wait(*end), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    for (const Placed& each : placed) {
      EXPECT_LT(each.made.Compare(each.plan, rank_, each.values).Largest(),
                AcceptedError(ElementType::kBfloat16))
          << "rank " << rank_ << ", step " << step;
      for (const ArenaBlock& block : each.blocks) worker_->Free(block);
    }
  }

 private:
  struct Placed {
    Placed(MadeMicroBatch of, ShardPlan planned)
        : made(std::move(of)), plan(std::move(planned)) {}
    MadeMicroBatch made;
    ShardPlan plan;
    RankTensors values;
    std::vector<ArenaBlock> blocks;
  };

  static Placed Made(const client::MicroBatchView& view, uint64_t step) {
    std::vector<uint32_t> lengths;
    for (const Document& each : view.documents()) lengths.push_back(each.length);
    return {MadeMicroBatch(SmallShape(), lengths, step), view.plan()};
  }
  uint64_t RowsOf(const client::MicroBatchView& view) const {
    return view.rank_tokens()[rank_] + view.rank_padding()[rank_];
  }

  // Into the arena, once the trainer's timeline is where it says then.
  ArenaTensors Place(Placed& placed) {
    RankTensors& values = placed.values;
    values = placed.made.OfRank(placed.plan, rank_);
    ArenaTensors at;
    at.query = Put(values.query, placed);
    at.key = Put(values.key, placed);
    at.value = Put(values.value, placed);
    at.output_gradient = Put(values.output_gradient, placed);
    at.output = Put(values.output, placed);
    at.log_sum_exp = Put(values.log_sum_exp, placed);
    at.query_gradient = Put(values.query_gradient, placed);
    at.key_gradient = Put(values.key_gradient, placed);
    at.value_gradient = Put(values.value_gradient, placed);
    EXPECT_THAT(streams_->SignalReadyAfter(stream_->handle(), ++ready_), IsOk());
    return at;
  }

  void Submit(uint64_t step, const client::MicroBatchView& view, Placed& placed) {
    const ArenaTensors at = Place(placed);
    const uint64_t rows = RowsOf(view);
    ASSERT_THAT(worker_->Forward(step, view.index(), rows, at, ready_), IsOk());
    const auto backward = worker_->Backward(step, view.index(), rows, at);
    ASSERT_THAT(backward, IsOk());
    ASSERT_THAT(streams_->Precede(*backward, stream_->handle()), IsOk());
    RankTensors& values = placed.values;
    Get(at.output, values.output);
    Get(at.log_sum_exp, values.log_sum_exp);
    Get(at.query_gradient, values.query_gradient);
    Get(at.key_gradient, values.key_gradient);
    Get(at.value_gradient, values.value_gradient);
  }

  template <typename Value>
  uint64_t Put(const std::vector<Value>& values, Placed& placed) {
    placed.blocks.push_back(worker_->Allocate(values.size() * sizeof(Value)).value());
    const ArenaBlock& block = placed.blocks.back();
    const CurrentContext current(*context_);
    context_->functions().cuMemcpyHtoDAsync_v2(
        reinterpret_cast<cuda::DevicePointer>(block.data), values.data(),
        values.size() * sizeof(Value), stream_->handle());
    return block.offset;
  }
  template <typename Value>
  void Get(uint64_t offset, std::vector<Value>& values) {
    const CurrentContext current(*context_);
    context_->functions().cuMemcpyDtoHAsync_v2(
        values.data(),
        reinterpret_cast<cuda::DevicePointer>(worker_->arena().data() + offset),
        values.size() * sizeof(Value), stream_->handle());
  }

  const PretendedJob& job_;
  const uint32_t rank_;
  std::unique_ptr<SidecarWorker> worker_;
  std::shared_ptr<const CudaContext> context_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<TrainerStreams> streams_;
  uint64_t ready_ = 0;
};

class CudaSidecarFormTest : public FakeNcclTest {
 protected:
  PretendedJob job_{kSteps};
};

TEST_F(CudaSidecarFormTest, StepsAreExecutedOnTheDeviceForTrainersThatEnqueueThem) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    workers.push_back(std::make_unique<Worker>(job_, OnDoubles(Timing())));
  }
  InThreads(kRanks, [&](uint32_t rank) {
    Trainer trainer(workers[rank]->folder(), job_, rank);
    for (uint64_t step = 0; step < kSteps; ++step) trainer.Execute(step);
  });
  EXPECT_EQ(workers[0]->status().figures.work.steps, kSteps);
}

TEST_F(CudaSidecarFormTest, AFaultOfAKernelIsOneOfTheWholeProcess) {
  const auto form = CudaSidecarForm::Open(OnDoubles(Timing()));
  ASSERT_THAT(form, IsOk());
  EXPECT_THAT((*form)->Check(), IsOk());
  fakeCudaFail(cuda::kLaunchFailed);
  EXPECT_THAT((*form)->Check(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("(719)")));
  EXPECT_THAT((*form)->OpenRank(kMemory).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("(719)")));
  // Or the double would miss what is given back.
  fakeCudaFail(cuda::kSuccess);
}

TEST_F(CudaSidecarFormTest, PassesAreTakenBeforeTheDeviceHasDoneThoseBefore) {
  // It has tokens of that micro-batch.
  constexpr uint32_t kHeld = 1;
  HeldRuns runs;
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    CudaFormOptions options = OnDoubles(Timing());
    if (rank == kHeld) {
      options.rank.open_planner = [&runs](std::shared_ptr<const CudaContext> context) {
        return std::make_unique<HeldPlanner>(std::move(context), runs);
      };
    }
    workers.push_back(std::make_unique<Worker>(job_, options));
  }
  InThreads(kRanks, [&](uint32_t rank) {
    Trainer trainer(workers[rank]->folder(), job_, rank);
    if (rank != kHeld)
      return trainer.ExecuteLayers(
          0, [] {}, [] {});
    int of_a_pass = 0;
    trainer.ExecuteLayers(
        0,
        [&] {
          of_a_pass = runs.given();
          ASSERT_GT(of_a_pass, 0) << "the rank has nothing to compute";
          runs.Hold();
        },
        [&] {
          // Those of the second, and one of the third.
          runs.AwaitGiven(2 * of_a_pass + 1);
          EXPECT_EQ(workers[kHeld]->status().session->progress.submissions, 2U)
              << "the step's beginning and the first pass";
          runs.Open();
        });
  });
}

TEST_F(CudaSidecarFormTest, ArenaAndPassesShareTheDevicesBudget) {
  const auto form = CudaSidecarForm::Open(OnDoubles(Timing()));
  ASSERT_THAT(form, IsOk());
  const ArenaMaker arenas = (*form)->ArenasOf(100'000);
  EXPECT_EQ(arenas.kind, ArenaKind::kCuda);
  EXPECT_THAT(arenas.make(65'536), IsOk());
  EXPECT_THAT(arenas.make(65'537), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("accepted: up to 100000")));
  const auto rank = (*form)->OpenRank(1000);
  ASSERT_THAT(rank, IsOk());
  EXPECT_THAT((*rank)->device().Allocate(1001).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("of 1000")));
}

TEST_F(CudaSidecarFormTest, ATrainerThatMapsNoDeviceIsRefused) {
  const Worker worker(job_, OnDoubles(Timing()));
  SidecarWorkerOptions options;
  options.socket_folder = worker.folder();
  EXPECT_THAT(SidecarWorker::Open(options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("arena_kind: 0 is not accepted; accepted: 1")));
}

TEST_F(CudaSidecarFormTest, WhatIsNotThereIsSaidBeforeItServes) {
  CudaFormOptions none = OnDoubles(Timing());
  none.rank.open_planner = [](std::shared_ptr<const CudaContext>) {
    return absl::FailedPreconditionError("there is no cuDNN");
  };
  EXPECT_THAT(CudaSidecarForm::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "there is no cuDNN"));
  none = OnDoubles(Timing());
  none.nccl = "/nowhere/libnccl.so.2";
  EXPECT_THAT(CudaSidecarForm::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/nowhere/libnccl.so.2")));
}

}  // namespace
}  // namespace evenpack::worker
