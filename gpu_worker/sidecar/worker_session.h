// A rank that works for a trainer in another process: from its subscription to its
// leave.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_WORKER_SESSION_H_
#define EVENPACK_GPU_WORKER_SIDECAR_WORKER_SESSION_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rank_worker/rank_worker.h"
#include "gpu_worker/session/ring_executor.h"

namespace evenpack::worker {

// What it computes with, and the memory that a pass may take beside the arena.
struct SessionResources {
  std::unique_ptr<RankForm> rank;
  uint64_t scratch_bytes = 0;
};

// Thread-safe.
class WorkerSession {
 public:
  // Returns once the server has said what the job is, and then executes what is
  // submitted in the arena. As RankWorker::Start and RankForm::Endpoints; endpoints and
  // device are those of the resources.
  static absl::StatusOr<std::unique_ptr<WorkerSession>> Open(
      client::Client& client, const RankWorkerOptions& options,
      std::shared_ptr<Arena> arena, SessionResources resources,
      const std::stop_token& stop);
  // What is under way ends with an error.
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  // Reports what was measured and not yet told, in one attempt, and takes no further
  // submissions. Once, before it is destroyed; without it that is dropped.
  void Close();

  const RankWorkerOptions& options() const { return options_; }
  uint32_t cp_size() const { return worker_->cp_size(); }
  RingProgress progress() const { return executor_->progress(); }
  RankFigures figures() const { return worker_->figures(); }

 private:
  WorkerSession(RankWorkerOptions options, std::shared_ptr<Arena> arena,
                SessionResources resources);

  void Execute();

  const RankWorkerOptions options_;
  const std::shared_ptr<Arena> arena_;
  const SessionResources resources_;
  SubmissionReader reader_;
  // They wait for the device, which the worker's end frees of peers that are gone.
  std::unique_ptr<Completions> completions_;
  std::unique_ptr<RankWorker> worker_;
  std::unique_ptr<RingExecutor> executor_;

  std::thread thread_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_WORKER_SESSION_H_
