// Sidecars on a device and their trainers, through their sockets and memory that both
// map: over doubles of the driver, of NCCL and of cuDNN's plans.
#include "gpu_worker/sidecar/cuda_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <memory>
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
#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeNcclTest;
using evenpack::testing::FakePlanner;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::PretendedJob;
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

CudaFormOptions OnDoubles(const NcclTiming& timing) {
  CudaFormOptions options;
  options.rank.driver = EVENPACK_FAKE_CUDA;
  options.rank.kernels = kFakeImage;
  options.rank.open_planner = [](std::shared_ptr<const CudaContext> context) {
    return std::make_unique<FakePlanner>(std::move(context));
  };
  options.nccl = EVENPACK_FAKE_NCCL;
  options.timing = timing;
  return options;
}

// A worker's process, but in this one.
class Worker {
 public:
  Worker(PretendedJob& job, const CudaFormOptions& form) {
    WorkerServerOptions options;
    options.socket_folder = folder_.path();
    options.trainer_user = geteuid();
    options.sidecar.form = CudaForm::Open(form).value();
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

class CudaFormTest : public FakeNcclTest {
 protected:
  PretendedJob job_{kSteps};
};

TEST_F(CudaFormTest, StepsAreExecutedOnTheDeviceForTrainersThatEnqueueThem) {
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

TEST_F(CudaFormTest, ArenaAndPassesShareTheDevicesBudget) {
  const auto form = CudaForm::Open(OnDoubles(Timing()));
  ASSERT_THAT(form, IsOk());
  const ArenaMaker arenas = (*form)->ArenasOf(100'000);
  EXPECT_EQ(arenas.kind, ArenaKind::kCuda);
  EXPECT_THAT(arenas.make(65'536), IsOk());
  EXPECT_THAT(arenas.make(65'537), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("accepted: up to 100000")));
  const auto seat = (*form)->OpenSeat(1000);
  ASSERT_THAT(seat, IsOk());
  EXPECT_THAT((*seat)->device().Allocate(1001).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("of 1000")));
}

TEST_F(CudaFormTest, ATrainerThatMapsNoDeviceIsRefused) {
  const Worker worker(job_, OnDoubles(Timing()));
  SidecarWorkerOptions options;
  options.socket_folder = worker.folder();
  EXPECT_THAT(SidecarWorker::Open(options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("arena_kind: 0 is not accepted; accepted: 1")));
}

TEST_F(CudaFormTest, WhatIsNotThereIsSaidBeforeItServes) {
  CudaFormOptions none = OnDoubles(Timing());
  none.rank.open_planner = [](std::shared_ptr<const CudaContext>) {
    return absl::FailedPreconditionError("there is no cuDNN");
  };
  EXPECT_THAT(CudaForm::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "there is no cuDNN"));
  none = OnDoubles(Timing());
  none.nccl = "/nowhere/libnccl.so.2";
  EXPECT_THAT(CudaForm::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/nowhere/libnccl.so.2")));
}

}  // namespace
}  // namespace evenpack::worker
