#include "gpu_worker/sidecar/worker_session.h"

#include <optional>
#include <string>
#include <utility>

#include "gpu_worker/rank_worker/computed_on.h"
#include "gpu_worker/session/device_completions.h"
#include "server/runtime/log.h"

namespace evenpack::worker {
namespace {

absl::StatusOr<std::optional<ExecutableStep>> NextOf(RankWorker& worker) {
  absl::StatusOr<std::optional<PreparedStep>> next = worker.NextStep();
  if (!next.ok()) return next.status();
  if (!next->has_value()) return std::optional<ExecutableStep>();
  PreparedStep& step = **next;
  const auto views = step.step.micro_batches();
  return std::optional<ExecutableStep>(
      ExecutableStep{step.step.index(), views.empty() ? 0 : views.front().index(),
                     std::move(step.micro_batches)});
}

std::unique_ptr<Completions> CompletionsOf(const RankForm& rank,
                                           SubmissionReader& reader) {
  const CudaWorkplace* const workplace = rank.workplace();
  if (workplace == nullptr) return std::make_unique<HostCompletions>(reader);
  return std::make_unique<DeviceCompletions>(reader, workplace->context,
                                             workplace->compute);
}

}  // namespace

WorkerSession::WorkerSession(RankWorkerOptions options, std::shared_ptr<Arena> arena,
                             SessionResources resources)
    : options_(std::move(options)),
      arena_(std::move(arena)),
      resources_(std::move(resources)),
      reader_(*arena_),
      completions_(CompletionsOf(*resources_.rank, reader_)) {}

absl::StatusOr<std::unique_ptr<WorkerSession>> WorkerSession::Open(
    client::Client& client, const RankWorkerOptions& options,
    std::shared_ptr<Arena> arena, SessionResources resources,
    const std::stop_token& stop) {
  absl::StatusOr<RankWorkerOptions> of = ComputedOn(*resources.rank, options);
  if (!of.ok()) return of.status();
  const uint64_t scratch_bytes = resources.scratch_bytes;
  std::unique_ptr<WorkerSession> session(
      new WorkerSession(*std::move(of), std::move(arena), std::move(resources)));
  absl::StatusOr<std::unique_ptr<RankWorker>> worker = RankWorker::Start(
      client, session->options_, session->resources_.rank->engine(), stop);
  if (!worker.ok()) return worker.status();
  session->worker_ = *std::move(worker);
  session->executor_ = std::make_unique<RingExecutor>(
      *session->arena_, session->reader_, *session->completions_,
      session->worker_->executor(),
      [own = session->worker_.get()] { return NextOf(*own); },
      RingExecutorOptions{session->options_.executor, scratch_bytes});
  session->thread_ = std::thread([own = session.get()] { own->Execute(); });
  return session;
}

WorkerSession::~WorkerSession() {
  if (!thread_.joinable()) return;
  reader_.Cancel();
  worker_->Cancel();
  thread_.join();
}

void WorkerSession::Close() {
  reader_.Cancel();
  // There are no durable marks that it could fail for.
  worker_->consumer().Close().IgnoreError();
}

void WorkerSession::Execute() {
  const absl::Status status = executor_->Run();
  if (absl::IsCancelled(status)) return;
  Log(LogLevel::kWarning, "the session has ended",
      {{"job", options_.steps.job}, {"reason", std::string(status.message())}});
}

}  // namespace evenpack::worker
