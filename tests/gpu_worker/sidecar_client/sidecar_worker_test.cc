#include "gpu_worker/sidecar_client/sidecar_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/service/worker_service.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::PretendedJob;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kSteps = 3;

// A worker's process, but in this one.
class Worker {
 public:
  explicit Worker(PretendedJob& job) {
    WorkerServerOptions options;
    options.socket_folder = folder_.path();
    options.trainer_user = geteuid();
    options.sidecar.memory_bytes = 1 << 24;
    auto server = WorkerServer::Start(job.client(), options);
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  SidecarWorkerOptions OptionsFor(uint32_t cp_rank) const {
    SidecarWorkerOptions options;
    options.socket_folder = folder_.path();
    options.arena_bytes = 1 << 23;
    options.job = "job";
    options.cp_rank = cp_rank;
    options.member = absl::StrCat("m", cp_rank);
    options.shape.query_heads = 2;
    return options;
  }
  void End() { server_.reset(); }

 private:
  const ScratchDirectory folder_;
  std::unique_ptr<WorkerServer> server_;
};

std::vector<uint32_t> LengthsOf(const client::MicroBatchView& view) {
  std::vector<uint32_t> lengths;
  for (const Document& document : view.documents()) lengths.push_back(document.length);
  return lengths;
}

// A forward pass over a micro-batch of each step.
class Trainer {
 public:
  Trainer(SidecarWorker& worker, const PretendedJob& job, uint32_t cp_rank)
      : worker_(worker), job_(job), cp_rank_(cp_rank) {}

  // Whose inputs are there only once SignalReady() says so.
  uint64_t Enqueue(uint64_t step) {
    const client::RankStep of = job_.Step(step);
    const client::MicroBatchView& view = of.micro_batches()[1];
    made_ = std::make_unique<MadeMicroBatch>(Shape(), LengthsOf(view), step);
    plan_ = view.plan();
    values_ = made_->OfRank(plan_, cp_rank_);
    tensors_.query = Allocate(values_.query.size());
    tensors_.key = Allocate(values_.key.size());
    tensors_.value = Allocate(values_.value.size());
    tensors_.output = Allocate(values_.output.size());
    tensors_.log_sum_exp = Allocate(values_.log_sum_exp.size() * sizeof(float));
    EXPECT_THAT(worker_.BeginStep(step), IsOk());
    EXPECT_THAT(worker_.Forward(step, view.index(), HeldTokens(plan_, cp_rank_),
                                tensors_, step + 1),
                IsOk());
    return *worker_.EndStep(step);
  }
  void Provide(uint64_t step) {
    Copy(blocks_[0], values_.query);
    Copy(blocks_[1], values_.key);
    Copy(blocks_[2], values_.value);
    worker_.SignalReady(step + 1);
  }
  void Check() {
    std::memcpy(values_.output.data(), blocks_[3].data, values_.output.size());
    std::memcpy(values_.log_sum_exp.data(), blocks_[4].data,
                values_.log_sum_exp.size() * sizeof(float));
    const AttentionErrors errors = made_->Compare(plan_, cp_rank_, values_);
    EXPECT_LT(errors.output, AcceptedError(ElementType::kFloat32));
    EXPECT_LT(errors.log_sum_exp, AcceptedError(ElementType::kFloat32));
    for (const ArenaBlock& block : blocks_) worker_.Free(block);
    blocks_.clear();
  }

 private:
  static AttentionShape Shape() {
    AttentionShape shape;
    shape.query_heads = 2;
    return shape;
  }
  uint64_t Allocate(uint64_t bytes) {
    blocks_.push_back(worker_.Allocate(bytes).value());
    return blocks_.back().offset;
  }
  static void Copy(const ArenaBlock& block, const std::vector<char>& values) {
    if (!values.empty()) std::memcpy(block.data, values.data(), values.size());
  }

  SidecarWorker& worker_;
  const PretendedJob& job_;
  const uint32_t cp_rank_;
  std::unique_ptr<MadeMicroBatch> made_;
  ShardPlan plan_;
  RankTensors values_;
  std::vector<ArenaBlock> blocks_;
  ArenaTensors tensors_;
};

TEST(SidecarWorkerTest, ComputesWhatIsEnqueuedOnceItsInputsAreThere) {
  PretendedJob job(kSteps);
  const Worker first(job);
  const Worker second(job);
  const auto a = SidecarWorker::Open(first.OptionsFor(0));
  ASSERT_THAT(a, IsOk());
  const auto b = SidecarWorker::Open(second.OptionsFor(1));
  ASSERT_THAT(b, IsOk());
  EXPECT_EQ((*a)->cp_size(), 2U);
  Trainer trainers[] = {{**a, job, 0}, {**b, job, 1}};
  for (uint64_t step = 0; step < kSteps; ++step) {
    const uint64_t ends[] = {trainers[0].Enqueue(step), trainers[1].Enqueue(step)};
    for (Trainer& trainer : trainers) trainer.Provide(step);
    EXPECT_THAT((*a)->Wait(ends[0]), IsOk());
    EXPECT_THAT((*b)->Wait(ends[1]), IsOk());
    for (Trainer& trainer : trainers) trainer.Check();
  }
}

TEST(SidecarWorkerTest, AWorkerThatEndsIsGone) {
  PretendedJob job(kSteps);
  Worker worker(job);
  const auto alone = SidecarWorker::Open(worker.OptionsFor(0));
  ASSERT_THAT(alone, IsOk());
  const auto begun = (*alone)->BeginStep(0);
  ASSERT_THAT(begun, IsOk());
  worker.End();
  EXPECT_FALSE((*alone)->Wait(*begun).ok());
}

TEST(SidecarWorkerTest, OneThatIsClosedLeavesItsWorkerToTheNext) {
  PretendedJob job(kSteps);
  const Worker worker(job);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(SidecarWorker::Open(worker.OptionsFor(0)), IsOk());
  }
}

TEST(SidecarWorkerTest, RefusalsAreTheWorkersOwn) {
  PretendedJob job(kSteps);
  const Worker worker(job);
  SidecarWorkerOptions options = worker.OptionsFor(0);
  options.job = "other";
  EXPECT_THAT(SidecarWorker::Open(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job")));
  options = worker.OptionsFor(0);
  options.shape.head_size = 65;
  EXPECT_THAT(SidecarWorker::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_size")));
  options = worker.OptionsFor(0);
  options.arena_bytes = uint64_t{1} << 30;
  EXPECT_THAT(SidecarWorker::Open(options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--memory")));
  options.socket_folder = "/nowhere";
  EXPECT_THAT(SidecarWorker::Open(options),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/nowhere")));
}

TEST(SidecarWorkerTest, OneThatDoesNotAnswerIsWaitedForAsLongAsOpeningMayTake) {
  const ScratchDirectory folder;
  const auto listening = ListenAt(AttachSocketIn(folder.path()), 0600);
  ASSERT_THAT(listening, IsOk());
  SidecarWorkerOptions options;
  options.socket_folder = folder.path();
  options.open_timeout = std::chrono::milliseconds(1);
  EXPECT_THAT(SidecarWorker::Open(options),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("attach.sock")));
}

TEST(SidecarWorkerTest, AFullArenaSaysSo) {
  PretendedJob job(kSteps);
  const Worker worker(job);
  const auto opened = SidecarWorker::Open(worker.OptionsFor(0));
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT((*opened)->Allocate(1 << 24),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("arena_bytes")));
}

}  // namespace
}  // namespace evenpack::worker
