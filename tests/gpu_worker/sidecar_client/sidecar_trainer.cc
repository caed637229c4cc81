// sidecar_trainer SOCKET_FOLDER HOST:PORT JOB DP_RANK CP_RANK MEMBER [FROM_STEP
// [cuda]]: as attention_trainer, with the attention executed by the worker at
// SOCKET_FOLDER, which computes on a CUDA device if the last is given. The trainer
// follows the rank's steps for itself, and enqueues all of a step at once.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "client/cpp/client.h"
#include "gpu_worker/device_arena/device_arena.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/sidecar_client/sidecar_worker.h"
#include "server/core/digest/digest.h"
#include "server/core/sharding/plan_digest.h"
#include "tests/gpu_worker/sidecar_client/trainer_memory.h"

namespace {

namespace client = evenpack::client;
using evenpack::testing::CudaTrainerMemory;
using evenpack::testing::HostTrainerMemory;
using evenpack::testing::TrainerMemory;
using evenpack::worker::ArenaBlock;
using evenpack::worker::ArenaTensors;
using evenpack::worker::CudaDriver;
using evenpack::worker::MadeMicroBatch;
using evenpack::worker::RankTensors;
using evenpack::worker::SidecarWorker;
using evenpack::worker::SidecarWorkerOptions;

struct Task {
  std::string address;
  client::ConsumerOptions steps;
  SidecarWorkerOptions worker;
  bool on_device = false;
};

// A worker, and its arena as the trainer has it.
struct Worker {
  std::unique_ptr<SidecarWorker> worker;
  std::unique_ptr<TrainerMemory> memory;
};

absl::StatusOr<Worker> OpenWorker(const Task& task) {
  Worker opened;
  SidecarWorkerOptions options = task.worker;
  std::shared_ptr<const CudaDriver> driver;
  if (task.on_device) {
    auto loaded = CudaDriver::Load();
    if (!loaded.ok()) return loaded.status();
    driver = *std::move(loaded);
    options.map = evenpack::worker::MapOnDevice(driver);
  }
  auto worker = SidecarWorker::Open(options);
  if (!worker.ok()) return worker.status();
  opened.worker = *std::move(worker);
  if (!task.on_device) {
    opened.memory = std::make_unique<HostTrainerMemory>();
    return opened;
  }
  auto memory = CudaTrainerMemory::Open(driver, *opened.worker);
  if (!memory.ok()) return memory.status();
  opened.memory = *std::move(memory);
  return opened;
}

// The tensors of a micro-batch in the arena.
class PlacedMicroBatch {
 public:
  PlacedMicroBatch(const Worker& of, const client::MicroBatchView& view,
                   uint32_t cp_rank, const MadeMicroBatch& made)
      : worker_(*of.worker),
        memory_(*of.memory),
        view_(view),
        cp_rank_(cp_rank),
        made_(made) {
    values_ = made_.OfRank(view.plan(), cp_rank);
    Place(values_.query, tensors_.query);
    Place(values_.key, tensors_.key);
    Place(values_.value, tensors_.value);
    Place(values_.output, tensors_.output);
    Place(values_.log_sum_exp, tensors_.log_sum_exp);
    Place(values_.output_gradient, tensors_.output_gradient);
    Place(values_.query_gradient, tensors_.query_gradient);
    Place(values_.key_gradient, tensors_.key_gradient);
    Place(values_.value_gradient, tensors_.value_gradient);
  }
  ~PlacedMicroBatch() {
    memory_.Finish().IgnoreError();
    for (const ArenaBlock& block : blocks_) worker_.Free(block);
  }
  PlacedMicroBatch(const PlacedMicroBatch&) = delete;
  PlacedMicroBatch& operator=(const PlacedMicroBatch&) = delete;

  absl::Status Submit(uint64_t step) {
    const uint64_t rows = HeldTokens(view_.plan(), cp_rank_);
    const absl::StatusOr<uint64_t> ready = memory_.Ready();
    if (!ready.ok()) return ready.status();
    const evenpack::Digest128 plan = PlanDigest(view_.plan());
    auto number = worker_.Forward(step, view_.index(), rows, tensors_, *ready, plan);
    if (number.ok()) {
      number = worker_.Backward(step, view_.index(), rows, tensors_, *ready, plan);
    }
    return number.ok() ? memory_.Follow(*number) : number.status();
  }
  double Error() {
    Fetch(3, values_.output);
    Fetch(4, values_.log_sum_exp);
    Fetch(6, values_.query_gradient);
    Fetch(7, values_.key_gradient);
    Fetch(8, values_.value_gradient);
    copied_.Update(memory_.Finish());
    if (!copied_.ok()) return std::numeric_limits<double>::infinity();
    return made_.Compare(view_.plan(), cp_rank_, values_).Largest();
  }

 private:
  template <typename Value>
  void Place(const std::vector<Value>& values, uint64_t& offset) {
    const size_t bytes = values.size() * sizeof(Value);
    blocks_.push_back(worker_.Allocate(bytes).value());
    offset = blocks_.back().offset;
    copied_.Update(memory_.Write(blocks_.back().data, values.data(), bytes));
  }
  template <typename Value>
  void Fetch(size_t block, std::vector<Value>& values) {
    copied_.Update(memory_.Read(values.data(), blocks_[block].data,
                                values.size() * sizeof(Value)));
  }

  SidecarWorker& worker_;
  TrainerMemory& memory_;
  const client::MicroBatchView& view_;
  const uint32_t cp_rank_;
  const MadeMicroBatch& made_;
  RankTensors values_;
  std::vector<ArenaBlock> blocks_;
  ArenaTensors tensors_;
  absl::Status copied_;
};

class Trainer {
 public:
  Trainer(const Task& task, client::Consumer& consumer, const Worker& of)
      : task_(task), consumer_(consumer), of_(of), worker_(*of.worker) {}

  absl::Status ExecuteAll() {
    for (;;) {
      const absl::StatusOr<std::optional<client::RankStep>> step = consumer_.Next();
      if (!step.ok()) return step.status();
      if (!step->has_value()) return absl::OkStatus();
      int attempts = 0;
      double error = 0;
      absl::Status status;
      do {
        ++attempts;
        status = ExecuteStep(**step, error);
      } while (absl::IsAborted(status));
      if (!status.ok()) return status;
      const uint64_t index = (*step)->index();
      std::cout << R"({"step": )" << index << R"(, "digest": ")"
                << ToHex((*step)->digest()) << R"(", "attempts": )" << attempts
                << R"(, "error": )" << error << "}\n"
                << std::flush;
      if (!task_.steps.sends_durable) continue;
      if (status = consumer_.AcknowledgeDurable(index); !status.ok()) return status;
    }
  }

 private:
  absl::Status ExecuteStep(const client::RankStep& step, double& error) {
    std::vector<std::unique_ptr<MadeMicroBatch>> made;
    std::vector<std::unique_ptr<PlacedMicroBatch>> placed;
    absl::Status status = worker_.BeginStep(step.index()).status();
    for (const client::MicroBatchView& view : step.micro_batches()) {
      std::vector<uint32_t> lengths;
      for (const evenpack::Document& document : view.documents()) {
        lengths.push_back(document.length);
      }
      made.push_back(std::make_unique<MadeMicroBatch>(
          task_.worker.shape, lengths, step.index() * 100 + view.index()));
      placed.push_back(std::make_unique<PlacedMicroBatch>(
          of_, view, task_.worker.cp_rank, *made.back()));
      if (status.ok()) status = placed.back()->Submit(step.index());
    }
    if (!status.ok()) return status;
    const absl::StatusOr<uint64_t> end = worker_.EndStep(step.index());
    if (!end.ok()) return end.status();
    status = worker_.Wait(*end);
    for (const auto& micro_batch : placed) {
      if (status.ok()) error = std::max(error, micro_batch->Error());
    }
    return status;
  }

  const Task& task_;
  client::Consumer& consumer_;
  const Worker& of_;
  SidecarWorker& worker_;
};

absl::Status Run(const Task& task) {
  client::ClientOptions options{.address = task.address};
  // So that a server that is back is soon found.
  options.backoff.maximum = std::chrono::milliseconds(500);
  absl::StatusOr<client::Client> connected = client::Client::Connect(options);
  if (!connected.ok()) return connected.status();
  const auto consumer = connected->OpenConsumer(task.steps);
  if (!consumer.ok()) return consumer.status();
  const absl::StatusOr<Worker> worker = OpenWorker(task);
  if (!worker.ok()) return worker.status();
  const absl::Status status = Trainer(task, **consumer, *worker).ExecuteAll();
  return status.ok() ? (*consumer)->Close() : status;
}

bool Read(int argc, char** argv, Task& task) {
  SidecarWorkerOptions& worker = task.worker;
  if (argc < 7 || argc > 9 || !absl::SimpleAtoi(argv[4], &worker.dp_rank) ||
      !absl::SimpleAtoi(argv[5], &worker.cp_rank) ||
      (argc >= 8 && !absl::SimpleAtoi(argv[7], &worker.from_step)) ||
      (argc == 9 && absl::string_view(argv[8]) != "cuda")) {
    return false;
  }
  worker.socket_folder = argv[1];
  worker.arena_bytes = 64 << 20;
  worker.job = argv[3];
  worker.member = argv[6];
  worker.shape.query_heads = 4;
  worker.shape.kv_heads = 2;
  worker.shape.head_size = 64;
  task.on_device = argc == 9;
  if (task.on_device) worker.shape.type = evenpack::worker::ElementType::kBfloat16;
  task.address = argv[2];
  task.steps.job = worker.job;
  task.steps.dp_rank = worker.dp_rank;
  task.steps.subscriber = argv[6];
  task.steps.sends_durable = worker.cp_rank == 0;
  task.steps.from_step = worker.from_step;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  if (!Read(argc, argv, task)) {
    std::cerr << "usage: sidecar_trainer SOCKET_FOLDER HOST:PORT JOB DP_RANK CP_RANK "
                 "MEMBER [FROM_STEP [cuda]]\n";
    return 2;
  }
  const absl::Status status = Run(task);
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
