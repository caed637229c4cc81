#include "gpu_worker/rank_worker/rank_worker.h"

#include <utility>

#include "evenpack/v1/job.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"

namespace evenpack::worker {
namespace {

absl::StatusOr<client::Subscription> AwaitJob(client::Consumer& consumer,
                                              const std::stop_token& stop) {
  const std::stop_callback cancel(stop, [&] { consumer.Cancel(); });
  return consumer.AwaitSubscription();
}

// All that can be before it subscribes, which ends an earlier subscription of the rank.
absl::Status Check(const RankWorkerOptions& options, const AttentionEngine& engine) {
  if (!options.steps.cp_rank.has_value()) {
    return InvalidField("steps.cp_rank", "none", "0 to CP - 1");
  }
  if (options.prepared_ahead == 0) {
    return InvalidField("prepared_ahead", 0, "1 or more");
  }
  absl::Status status = CheckBytes("member", options.member, 1, kMaxMemberBytes);
  if (status.ok()) status = engine.CheckShape(options.shape);
  return status;
}

void Report(uint64_t step, const StepTimes& times, client::Consumer& consumer) {
  for (const auto& [index, of] : times) {
    client::MeasuredLatency latency;
    latency.step = step;
    latency.micro_batch = index;
    latency.attention = {of.forward_passes, of.backward_passes, of.forward_ns,
                         of.backward_ns, of.waited_ns};
    consumer.ReportLatency(latency);
  }
}

}  // namespace

RankWorker::RankWorker(std::unique_ptr<client::Consumer> consumer,
                       std::unique_ptr<client::GroupMember> member,
                       const RankWorkerOptions& options, uint32_t cp_size,
                       AttentionEngine& engine)
    : cp_size_(cp_size),
      reports_waits_(options.steps.reports_waits),
      clock_(*options.executor.clock),
      consumer_(std::move(consumer)),
      rendezvous_(
          std::move(member),
          [open = options.endpoints, rank = *options.steps.cp_rank, cp_size] {
            return open(rank, cp_size);
          },
          options.patience),
      executor_(
          rendezvous_, engine, options.executor,
          [this](uint64_t step, const StepTimes& times) { Executed(step, times); }),
      steps_(*consumer_,
             {*options.steps.cp_rank, cp_size, options.shape, engine.key_placement()},
             options.prepared_ahead) {}

absl::StatusOr<std::unique_ptr<RankWorker>> RankWorker::Start(
    client::Client& client, const RankWorkerOptions& options, AttentionEngine& engine,
    const std::stop_token& stop) {
  if (absl::Status status = Check(options, engine); !status.ok()) return status;
  // Steps are taken ahead: what that waits for isn't what the trainer does.
  client::ConsumerOptions ahead = options.steps;
  ahead.reports_waits = false;
  absl::StatusOr<std::unique_ptr<client::Consumer>> consumer =
      client.OpenConsumer(ahead);
  if (!consumer.ok()) return consumer.status();
  const absl::StatusOr<client::Subscription> job = AwaitJob(**consumer, stop);
  if (!job.ok()) return job.status();
  const uint32_t cp_size = job->spec->parallelism().context();
  absl::StatusOr<std::unique_ptr<client::GroupMember>> member =
      client.JoinGroup({.job = options.steps.job,
                        .dp_rank = options.steps.dp_rank,
                        .cp_size = cp_size,
                        .cp_rank = *options.steps.cp_rank,
                        .member = options.member});
  if (!member.ok()) return member.status();
  return std::unique_ptr<RankWorker>(new RankWorker(
      *std::move(consumer), *std::move(member), options, cp_size, engine));
}

absl::StatusOr<std::optional<PreparedStep>> RankWorker::NextStep() {
  const Clock::TimePoint start = clock_.Now();
  absl::StatusOr<std::optional<PreparedStep>> step = steps_.Next();
  if (!reports_waits_ || !step.ok() || !step->has_value()) return step;
  // The first also waits for the connection, and for a job to have documents.
  const bool first = std::exchange(first_step_, false);
  consumer_->ReportWait(first ? 0 : SecondsBetween(start, clock_.Now()));
  return step;
}

void RankWorker::Executed(uint64_t step, const StepTimes& times) {
  Report(step, times, *consumer_);
  MutexLock lock(mutex_);
  work_.Add(times);
}

RankFigures RankWorker::figures() const {
  RankFigures figures;
  figures.prepared_steps = steps_.waiting();
  figures.group = rendezvous_.standing();
  MutexLock lock(mutex_);
  figures.work = work_;
  return figures;
}

void RankWorker::Cancel() {
  steps_.Cancel();
  rendezvous_.Cancel();
}

}  // namespace evenpack::worker
