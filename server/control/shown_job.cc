#include "server/control/shown_job.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/control/store_failure.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

absl::Status CheckRanks(const LatencyReport& report, const JobSpec& spec) {
  if (report.dp_rank >= spec.data_parallel) {
    return NoSuchRank("dp_rank", report.dp_rank, spec.data_parallel);
  }
  if (report.cp_rank.has_value() && *report.cp_rank >= spec.context_parallel) {
    return NoSuchRank("cp_rank", *report.cp_rank, spec.context_parallel);
  }
  return absl::OkStatus();
}

absl::Status CheckMicroBatch(const MeasuredMicroBatch& measured, uint32_t dp_rank,
                             const JobSpec& spec) {
  const uint32_t per_rank = spec.micro_batches / spec.data_parallel;
  const uint64_t first = uint64_t{dp_rank} * per_rank;
  if (measured.micro_batch >= first && measured.micro_batch < first + per_rank) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat("micro_batch: ", measured.micro_batch, " is not one of dp_rank ",
                   dp_rank, "; accepted: ", first, " to ", first + per_rank - 1));
}

}  // namespace

absl::Status JobNotFound(const std::string& name) {
  return WithDetail(absl::NotFoundError(absl::StrCat(
                        "job: '", name, "' is not known; accepted: the name of a job")),
                    {kJobNotFound, {{"job", name}}});
}

absl::Status NoSuchRank(absl::string_view field, uint32_t rank, uint64_t ranks) {
  return absl::OutOfRangeError(
      absl::StrCat(field, ": ", rank, " is not accepted; accepted: 0 to ", ranks - 1));
}

std::vector<std::shared_ptr<const PublishedStep>> ShownJob::Show(
    const JobChange& change) {
  StepWindow forgotten;  // freed under no lock
  MutexLock lock(mutex_);
  // What was committed before another server took the job is shown to nobody.
  if (removed_) return {};
  if (change.removed) {
    removed_ = true;
    // Subscribers who don't read keep the job.
    forgotten =
        std::exchange(window_, StepWindow(window_.end(), window_.last_digest()));
    subscriptions_.EndAll(JobNotFound(name_));
    return {};
  }
  if (change.reshape.has_value()) ShowReshape(*change.reshape);
  if (change.recosted != nullptr) spec_ = change.recosted;
  if (change.restored.has_value()) {
    window_ = StepWindow(change.restored->next_step, change.restored->digest);
  }
  if (change.marked.has_value()) {
    durable_[change.marked->dp_rank] = change.marked->steps;
  }
  for (const NewStep& step : change.steps) window_.Publish(step.step);
  drained_ = change.drained;
  return window_.LetGo(change.oldest_step);
}

void ShownJob::ShowReshape(const Reshape& reshape) {
  const bool is_new = spec_ == nullptr;
  spec_ = reshape.spec;
  epoch_ = reshape.epoch;
  durable_ = reshape.durable;
  if (is_new) return;
  window_.Withdraw(reshape.from_step);
  subscriptions_.EndAll(EpochEnded(*spec_, epoch_, reshape.from_step));
}

absl::Status ShownJob::Restore(const JobState& state,
                               std::shared_ptr<const JobSpec> spec,
                               const JobTokens& tokens,
                               std::optional<uint64_t> let_go_epoch,
                               Clock::TimePoint now) {
  // Backwards: a reconfiguration's record has the spec of the steps before it.
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  std::shared_ptr<const JobSpec> steps_spec = spec;
  for (size_t i = state.history.size(); i-- > 0;) {
    const HistoryRecord& record = state.history[i];
    if (const auto* update = std::get_if<UpdateRecord>(&record)) {
      steps_spec = std::make_shared<const JobSpec>(update->spec_before);
      continue;
    }
    const auto& decided = std::get<StepRecord>(record);
    auto of_step = tokens.Of(decided.step);
    if (!of_step.ok()) return of_step.status();
    auto step = Publish(decided.step, decided.before.digest, steps_spec, now,
                        *std::move(of_step));
    if (!step.ok()) return step.status();
    steps.push_back(*std::move(step));
  }
  MutexLock lock(mutex_);
  window_ =
      steps.empty()
          ? StepWindow(state.position.next_step, state.position.digest, let_go_epoch)
          : StepWindow(steps.back()->step.index, steps.back()->previous, let_go_epoch);
  for (; !steps.empty(); steps.pop_back()) window_.Publish(std::move(steps.back()));
  subscriptions_.EndAll(StoreFailure(
      "the job was read anew", absl::UnavailableError(absl::StrCat(
                                   "its next step is ", state.position.next_step))));
  spec_ = std::move(spec);
  epoch_ = state.epoch;
  durable_ = state.durable;
  drained_ = IsDrained(state);
  return absl::OkStatus();
}

absl::Status ShownJob::CheckShown() const {
  return spec_ == nullptr || removed_ ? JobNotFound(name_) : absl::OkStatus();
}

void ShownJob::EndThoseThatWait(const absl::Status& status) {
  MutexLock lock(mutex_);
  subscriptions_.EndThoseThatWait(status);
}

bool ShownJob::IsShown() const {
  MutexLock lock(mutex_);
  return CheckShown().ok();
}

SessionView ShownJob::View() const {
  return {window_, *spec_, epoch_, drained_, durable_};
}

ShownJob::Subscribers ShownJob::TakeWoken() {
  MutexLock lock(mutex_);
  if (spec_ == nullptr) return {};
  return subscriptions_.TakeWoken(View());
}

std::shared_ptr<Subscriber> ShownJob::TakeIfWoken(Subscription& subscription) {
  return SubscriptionTable::TakeIfWoken(subscription, View()) ? subscription.subscriber
                                                              : nullptr;
}

absl::StatusOr<Subscribed> ShownJob::Subscribe(const SubscribeRequest& request,
                                               std::shared_ptr<Subscriber> subscriber,
                                               const absl::Status& unread,
                                               Clock::TimePoint now,
                                               Subscribers& woken) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<Subscription>> added =
      subscriptions_.Add(request, std::move(subscriber), View(), unread);
  if (!added.ok()) return added.status();
  Subscribed subscribed;
  subscribed.subscription = *std::move(added);
  subscribed.subscription->NoteCredit(now);
  subscribed.spec = spec_;
  subscribed.epoch = epoch_;
  subscribed.from_step = subscribed.subscription->next;
  subscribed.previous_digest =
      window_.DigestBefore(subscribed.from_step).value_or(GenesisDigest());
  subscribed.durable_steps = durable_[request.dp_rank];
  woken = subscriptions_.TakeWoken(View());
  return subscribed;
}

NextMessage ShownJob::Next(Subscription& subscription) {
  MutexLock lock(mutex_);
  return subscriptions_.Next(subscription, View());
}

absl::StatusOr<std::shared_ptr<Subscriber>> ShownJob::Received(
    Subscription& subscription, uint64_t step, Clock::TimePoint now) {
  MutexLock lock(mutex_);
  if (absl::Status status = SubscriptionTable::Received(subscription, step);
      !status.ok()) {
    return status;
  }
  subscription.NoteCredit(now);
  return TakeIfWoken(subscription);
}

std::shared_ptr<Subscriber> ShownJob::TellMarked(Subscription& subscription) {
  MutexLock lock(mutex_);
  const uint32_t rank = subscription.request.dp_rank;
  if (rank < durable_.size()) subscription.marked = durable_[rank];
  return TakeIfWoken(subscription);
}

std::optional<absl::Status> ShownJob::EndOf(const Subscription& subscription) const {
  MutexLock lock(mutex_);
  return subscription.end;
}

void ShownJob::Unsubscribe(Subscription& subscription) {
  std::shared_ptr<Subscriber> forgotten;  // freed under no lock
  MutexLock lock(mutex_);
  forgotten = subscription.subscriber;
  subscriptions_.Remove(subscription);
}

absl::StatusOr<std::shared_ptr<const PublishedStep>> ShownJob::FindStep(
    uint64_t index) const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  return window_.Find(index);
}

absl::StatusOr<uint64_t> ShownJob::DurableStepsOf(uint32_t dp_rank) const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  if (dp_rank >= durable_.size())
    return NoSuchRank("dp_rank", dp_rank, durable_.size());
  return durable_[dp_rank];
}

absl::Status ShownJob::CheckSeat(const GroupSeat& seat) const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  absl::Status status =
      CheckRange<uint32_t>("dp_rank", seat.dp_rank, 0, spec_->data_parallel - 1);
  if (!status.ok()) return status;
  if (seat.cp_size == spec_->context_parallel) return evenpack::CheckSeat(seat);
  return WithDetail(absl::FailedPreconditionError(absl::StrCat(
                        "cp_size: ", seat.cp_size, " is not accepted; accepted: ",
                        spec_->context_parallel, ", the job's")),
                    {"GROUP_SIZE_DIFFERS",
                     {{"context_parallel", absl::StrCat(spec_->context_parallel)}}});
}

absl::StatusOr<std::vector<std::shared_ptr<const PublishedStep>>> ShownJob::StepsOf(
    const LatencyReport& report) const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  bool any_kept = false;
  for (const MeasuredMicroBatch& measured : report.micro_batches) {
    if (measured.step < window_.begin()) {
      steps.push_back(nullptr);
      continue;
    }
    any_kept = true;
    auto step = window_.Find(measured.step);
    if (!step.ok()) return step.status();
    // Of an earlier epoch maybe, whose ranks were others.
    const JobSpec& spec = *(*step)->spec;
    absl::Status status = CheckRanks(report, spec);
    if (status.ok()) status = CheckMicroBatch(measured, report.dp_rank, spec);
    if (!status.ok()) return status;
    steps.push_back(*std::move(step));
  }
  if (!any_kept) {
    if (absl::Status status = CheckRanks(report, *spec_); !status.ok()) return status;
  }
  return steps;
}

std::shared_ptr<const JobSpec> ShownJob::spec() const {
  MutexLock lock(mutex_);
  return CheckShown().ok() ? spec_ : nullptr;
}

uint64_t ShownJob::subscribers() const {
  MutexLock lock(mutex_);
  return subscriptions_.size();
}

std::vector<SubscriberStatus> ShownJob::SlowestSubscribers(size_t most) const {
  MutexLock lock(mutex_);
  return subscriptions_.Slowest(window_, most);
}

void ShownJob::AddTo(JobFigures& figures) const {
  MutexLock lock(mutex_);
  figures.next_step = window_.end();
  figures.kept_steps = window_.end() - window_.begin();
  const SubscriberFigures subscribers = subscriptions_.Figures(window_);
  figures.subscribers = subscribers.subscribers;
  figures.max_lag_steps = subscribers.max_lag_steps;
  figures.min_lag_steps = subscribers.min_lag_steps;
  figures.total_lag_steps = subscribers.total_lag_steps;
  figures.unused_credits = subscribers.unused_credits;
  figures.ready_steps = subscribers.ready_steps;
}

}  // namespace evenpack
