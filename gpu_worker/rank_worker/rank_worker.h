// One rank of a context-parallel group, within its trainer's process: follows the steps
// of a job, and executes their attention with the other ranks.
//
//   auto client = client::Client::Connect({.address = "packer:7654"});
//   CpuAttention engine(/*threads=*/4);
//   auto worker = RankWorker::Start(
//       *client, {.steps = {.job = "run-7", .dp_rank = 3, .cp_rank = 1},
//                 .member = "host-9/1", .shape = shape}, engine);
//   for (;;) {
//     auto step = (*worker)->NextStep();
//     if (!step.ok()) return step.status();
//     if (!step->has_value()) break;                       // the job is drained
//     absl::Status status;
//     do {
//       status = Execute((*worker)->executor(), **step);   // BeginStep to EndStep
//     } while (absl::IsAborted(status));
//     if (!status.ok()) return status;
//   }
//
// On a CUDA device, in whose memory the tensors are then (rank_form.h, computed_on.h):
//
//   auto form = OnCuda({.rank = {.device = 0}});
//   auto options = ComputedOn(**form, {.steps = ..., .member = ..., .shape = shape});
//   auto worker = RankWorker::Start(*client, *options, (*form)->engine());
#ifndef EVENPACK_GPU_WORKER_RANK_WORKER_RANK_WORKER_H_
#define EVENPACK_GPU_WORKER_RANK_WORKER_RANK_WORKER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/rank_worker/prepared_steps.h"
#include "gpu_worker/rank_worker/rank_figures.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "gpu_worker/steps/group_executor.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

struct RankWorkerOptions {
  // Whose steps; cp_rank must be set. With reports_waits the trainer has no consumer of
  // its own, and what it waits for in NextStep() is reported.
  client::ConsumerOptions steps = {};
  // Names this process, and no other before or after it: 1 to 256 bytes.
  std::string member = {};
  AttentionShape shape = {};
  ExecutorOptions executor = {};
  // Steps that are prepared before the trainer asks for them; at least 1.
  size_t prepared_ahead = 2;
  // How peers reach this rank, and how long they wait for each other.
  OpenEndpointOf endpoints = GlooEndpoints({});
  // How long it waits for all ranks to be connected and take part in an exchange, at
  // first and after one was lost.
  std::chrono::nanoseconds patience = kDefaultPatience;
};

// Not thread-safe, but for Cancel() and figures().
class RankWorker {
 public:
  // Returns once the server has said what the job is. `engine`, and the device of the
  // options, must outlive the worker.
  // INVALID_ARGUMENT naming the field: of the options, before it subscribes and so ends
  // an earlier worker's subscription of the rank. Errors of
  // Consumer::AwaitSubscription; CANCELLED where `stop` is requested.
  static absl::StatusOr<std::unique_ptr<RankWorker>> Start(
      client::Client& client, const RankWorkerOptions& options, AttentionEngine& engine,
      const std::stop_token& stop = {});

  // Blocks until there is a step; none where the job is drained. Errors, as those of
  // PreparedSteps::Next, are final. ABORTED: the job was reconfigured or rewound, or a
  // newer subscription has the rank, as client/cpp/consumer.h has it; steps that were
  // prepared are dropped, and one that was handed out may have been withdrawn.
  absl::StatusOr<std::optional<PreparedStep>> NextStep();
  // Executes them; all ranks of the group take part in each. What it measures of a step
  // is reported to the server with the consumer's next report.
  GroupExecutor& executor() { return executor_; }
  // Has what blocks return CANCELLED or another error, now and later: no step is handed
  // out or ended any more.
  void Cancel();

  // From any thread.
  RankFigures figures() const;

  uint32_t cp_size() const { return cp_size_; }
  // For durable marks and reports. Once it is closed NextStep() returns CANCELLED.
  client::Consumer& consumer() { return *consumer_; }

 private:
  RankWorker(std::unique_ptr<client::Consumer> consumer,
             std::unique_ptr<client::GroupMember> member,
             const RankWorkerOptions& options, uint32_t cp_size,
             AttentionEngine& engine);

  // Of a step that no rank will do again.
  void Executed(uint64_t step, const StepTimes& times);

  const uint32_t cp_size_;
  const bool reports_waits_;
  const Clock& clock_;
  bool first_step_ = true;
  const std::unique_ptr<client::Consumer> consumer_;
  mutable Mutex mutex_;
  ExecutedWork work_ EVENPACK_GUARDED_BY(mutex_);
  GroupRendezvous rendezvous_;
  GroupExecutor executor_;
  PreparedSteps steps_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RANK_WORKER_RANK_WORKER_H_
