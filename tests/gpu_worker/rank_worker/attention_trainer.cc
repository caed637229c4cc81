// attention_trainer HOST:PORT JOB DP_RANK CP_RANK MEMBER [FROM_STEP [PAIR_NS
// [GROUP_SECONDS]]]:
// executes the attention of a rank's steps, forward and backward, to the last of the
// job, and holds it to the definition. Steps are durable once CP rank 0 has ended them.
// With PAIR_NS passes are timed by a clock that a query and a key move by so many
// nanoseconds, and nothing else does; 0: as they are. Ranks wait GROUP_SECONDS for each
// other, in connecting and in an exchange.
//
// A line of standard output is an object in JSON: of a step its number, its digest, the
// epoch of the group, how often it was begun, and the largest error.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "client/cpp/client.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/rank_worker/rank_worker.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/fake_clock.h"

namespace {

namespace client = evenpack::client;
using evenpack::testing::FakeClock;
using evenpack::worker::AttentionCall;
using evenpack::worker::AttentionShape;
using evenpack::worker::CpuAttention;
using evenpack::worker::GroupExecutor;
using evenpack::worker::MadeMicroBatch;
using evenpack::worker::PreparedMicroBatch;
using evenpack::worker::PreparedStep;
using evenpack::worker::RankTensors;
using evenpack::worker::RankWorker;
using evenpack::worker::RankWorkerOptions;

struct Task {
  std::string address;
  // 0: passes are timed as they are.
  int64_t pair_ns = 0;
  RankWorkerOptions options;
};

// A machine of a given speed, whatever else runs on it.
class PacedEngine final : public evenpack::worker::AttentionEngine {
 public:
  PacedEngine(AttentionEngine& engine, int64_t pair_ns, FakeClock& clock)
      : engine_(engine), pair_ns_(pair_ns), clock_(clock) {}

  absl::Status Forward(const AttentionCall& call,
                       const evenpack::worker::ForwardResult& result) override {
    Pass(call);
    return engine_.Forward(call, result);
  }
  absl::Status Backward(const AttentionCall& call,
                        const evenpack::worker::BackwardInput& input,
                        const evenpack::worker::BackwardResult& result) override {
    Pass(call);
    return engine_.Backward(call, input, result);
  }

 private:
  void Pass(const AttentionCall& call) {
    int64_t pairs = 0;
    for (const evenpack::worker::AttentionTask& task : call.tasks) {
      pairs += int64_t{task.end - task.begin} * task.end;
    }
    clock_.Advance(std::chrono::nanoseconds(pairs * pair_ns_));
  }

  AttentionEngine& engine_;
  const int64_t pair_ns_;
  FakeClock& clock_;
};

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_size = 64;
  return shape;
}

// Of one micro-batch; the larger error goes to `error`.
absl::Status ExecuteOne(GroupExecutor& executor, const client::MicroBatchView& view,
                        const PreparedMicroBatch& prepared, uint32_t cp_rank,
                        uint64_t seed, double& error) {
  std::vector<uint32_t> lengths;
  for (const evenpack::Document& document : view.documents()) {
    lengths.push_back(document.length);
  }
  const MadeMicroBatch made(prepared.shape, lengths, seed);
  RankTensors tensors = made.OfRank(view.plan(), cp_rank);
  absl::Status status = executor.Forward(prepared, tensors.input(), tensors.result());
  if (!status.ok()) return status;
  status = executor.Backward(prepared, tensors.input(), tensors.result(),
                             tensors.output_gradient.data(), tensors.gradients());
  if (!status.ok()) return status;
  error = std::max(error, made.Compare(view.plan(), cp_rank, tensors).Largest());
  return absl::OkStatus();
}

absl::Status ExecuteStep(GroupExecutor& executor, const PreparedStep& step,
                         uint32_t cp_rank, double& error) {
  absl::Status status = executor.BeginStep(step.step.index());
  for (size_t i = 0; status.ok() && i < step.micro_batches.size(); ++i) {
    const client::MicroBatchView& view = step.step.micro_batches()[i];
    // As sidecar_trainer: the ranks of a group make the same tensors.
    const uint64_t seed = step.step.index() * 100 + view.index();
    status = ExecuteOne(executor, view, step.micro_batches[i], cp_rank, seed, error);
  }
  return status.ok() ? executor.EndStep() : status;
}

absl::Status ExecuteAll(RankWorker& worker, uint32_t cp_rank) {
  for (;;) {
    const absl::StatusOr<std::optional<PreparedStep>> step = worker.NextStep();
    if (!step.ok()) return step.status();
    if (!step->has_value()) return absl::OkStatus();
    absl::Status status;
    double error = 0;
    int attempts = 0;
    do {
      ++attempts;
      status = ExecuteStep(worker.executor(), **step, cp_rank, error);
    } while (absl::IsAborted(status));
    if (!status.ok()) return status;
    const uint64_t index = (*step)->step.index();
    std::cout << R"({"step": )" << index << R"(, "digest": ")"
              << ToHex((*step)->step.digest()) << R"(", "epoch": )"
              << worker.executor().epoch() << R"(, "attempts": )" << attempts
              << R"(, "error": )" << error << "}\n"
              << std::flush;
    if (cp_rank > 0) continue;
    if (status = worker.consumer().AcknowledgeDurable(index); !status.ok()) {
      return status;
    }
  }
}

absl::Status Run(Task task) {
  client::ClientOptions options{.address = task.address};
  // So that a server that is back is soon found.
  options.backoff.maximum = std::chrono::milliseconds(500);
  absl::StatusOr<client::Client> connected = client::Client::Connect(options);
  if (!connected.ok()) return connected.status();
  CpuAttention processor(1);
  FakeClock clock;
  PacedEngine paced(processor, task.pair_ns, clock);
  if (task.pair_ns > 0) task.options.executor.clock = &clock;
  const auto worker = RankWorker::Start(*connected, task.options, paced);
  if (!worker.ok()) return worker.status();
  const absl::Status status = ExecuteAll(**worker, *task.options.steps.cp_rank);
  return status.ok() ? (*worker)->consumer().Close() : status;
}

bool Read(int argc, char** argv, Task& task) {
  RankWorkerOptions& options = task.options;
  uint32_t cp_rank = 0;
  uint64_t from_step = 0;
  uint32_t group_seconds = 0;
  if (argc < 6 || argc > 9 || !absl::SimpleAtoi(argv[3], &options.steps.dp_rank) ||
      !absl::SimpleAtoi(argv[4], &cp_rank) ||
      (argc >= 7 && !absl::SimpleAtoi(argv[6], &from_step)) ||
      (argc >= 8 && !absl::SimpleAtoi(argv[7], &task.pair_ns)) ||
      (argc == 9 && !absl::SimpleAtoi(argv[8], &group_seconds))) {
    return false;
  }
  if (argc == 9) {
    evenpack::worker::GlooOptions group;
    group.exchange_timeout = std::chrono::seconds(group_seconds);
    group.connect_timeout = group.exchange_timeout;
    options.endpoints = evenpack::worker::GlooEndpoints(group);
  }
  task.address = argv[1];
  options.steps.job = argv[2];
  options.steps.cp_rank = cp_rank;
  options.steps.subscriber = "trainer";
  options.steps.sends_durable = cp_rank == 0;
  if (argc >= 7) options.steps.from_step = from_step;
  options.member = argv[5];
  options.shape = SmallShape();
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  if (!Read(argc, argv, task)) {
    std::cerr << "usage: attention_trainer HOST:PORT JOB DP_RANK CP_RANK MEMBER "
                 "[FROM_STEP [PAIR_NS [GROUP_SECONDS]]]\n";
    return 2;
  }
  const absl::Status status = Run(task);
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
