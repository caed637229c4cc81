#include "gpu_worker/rank_worker/prepared_steps.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

absl::StatusOr<PreparedStep> PrepareStep(client::RankStep step, const PreparedFor& of) {
  PreparedStep prepared{std::move(step), {}};
  prepared.micro_batches.reserve(prepared.step.micro_batches().size());
  for (const client::MicroBatchView& view : prepared.step.micro_batches()) {
    if (view.context_parallel() != of.cp_size) {
      return absl::FailedPreconditionError(absl::StrCat(
          "step ", prepared.step.index(), " is for groups of ", view.context_parallel(),
          " ranks, and this one has ", of.cp_size, "; the job was reconfigured"));
    }
    prepared.micro_batches.push_back(
        PrepareMicroBatch(view.plan(), of.cp_rank, of.shape, of.placement));
    prepared.micro_batches.back().index = view.index();
  }
  return prepared;
}

PreparedSteps::PreparedSteps(client::Consumer& consumer, const PreparedFor& of,
                             size_t ahead)
    : consumer_(consumer), of_(of), ahead_(ahead), thread_([this] { Run(); }) {}

PreparedSteps::~PreparedSteps() {
  Cancel();
  thread_.join();
}

void PreparedSteps::Cancel() {
  {
    MutexLock lock(mutex_);
    End(absl::CancelledError("the worker was cancelled"));
  }
  consumer_.Cancel();
}

void PreparedSteps::End(const absl::Status& why) {
  entries_.clear();
  entries_.emplace_back(why);
  ended_ = true;
  changed_.SignalAll();
}

PreparedSteps::Entry PreparedSteps::TakeOne() {
  absl::StatusOr<std::optional<client::RankStep>> step = consumer_.Next();
  if (!step.ok()) return step.status();
  if (!step->has_value()) return std::optional<PreparedStep>();
  return PrepareStep(**std::move(step), of_);
}

void PreparedSteps::Run() {
  while (Add(TakeOne())) {
  }
}

bool PreparedSteps::Add(Entry entry) {
  const bool is_step = entry.ok() && entry->has_value();
  MutexLock lock(mutex_);
  while (entries_.size() >= ahead_ && !ended_) changed_.Wait(mutex_);
  if (ended_) return false;
  entries_.push_back(std::move(entry));
  changed_.SignalAll();
  return is_step;
}

absl::StatusOr<std::optional<PreparedStep>> PreparedSteps::Next() {
  MutexLock lock(mutex_);
  while (entries_.empty()) changed_.Wait(mutex_);
  // The consumer is asked here, since the thread doesn't while as many wait as may.
  if (entries_.front().ok()) {
    const absl::Status status = consumer_.status();
    if (absl::IsAborted(status) || absl::IsCancelled(status)) End(status);
  }
  const Entry& first = entries_.front();
  if (!first.ok() || !first->has_value()) return first;
  Entry taken = std::move(entries_.front());
  entries_.pop_front();
  changed_.SignalAll();
  return taken;
}

uint64_t PreparedSteps::waiting() const {
  MutexLock lock(mutex_);
  // The end, or an error, is the last.
  const bool ends =
      !entries_.empty() && (!entries_.back().ok() || !entries_.back()->has_value());
  return entries_.size() - (ends ? 1 : 0);
}

}  // namespace evenpack::worker
