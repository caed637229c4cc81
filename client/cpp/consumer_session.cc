#include "client/cpp/consumer_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/data_loss.h"
#include "client/cpp/error_details.h"
#include "client/cpp/retry.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/runtime/error_reason.h"

namespace evenpack::client {

ConsumerSession::ConsumerSession(std::shared_ptr<Stub> stub,
                                 ClientOptions client_options, ConsumerOptions options)
    : stub_(std::move(stub)),
      client_options_(std::move(client_options)),
      options_(std::move(options)),
      cursor_({options_.from_step, options_.last_digest, options_.last_epoch}),
      handed_out_(cursor_.position()),
      buffer_(
          {options_.max_buffered_steps, options_.max_buffered_bytes, options_.credits}),
      marks_(DurableMarks::Behind(options_.from_step, options_.last_epoch)),
      reporter_(stub_, client_options_, options_),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ConsumerSession::~ConsumerSession() { Cancel(); }

void ConsumerSession::Cancel() {
  SetFinal(absl::CancelledError("the consumer was cancelled"));
  thread_.request_stop();
}

void ConsumerSession::Run(const std::stop_token& stop) {
  Backoff backoff(
      client_options_.backoff, *client_options_.clock, client_options_.random,
      {absl::StrCat("following job '", options_.job, "' as DP rank ", options_.dp_rank),
       client_options_.on_retry});
  while (AwaitWork()) {
    const absl::Status status = OneCall(backoff, stop);
    if (!GoesOn(status, backoff, stop)) return;
  }
}

bool ConsumerSession::HasWork() const {
  const bool wants_step = !drained_.has_value() && buffer_.HasRoom();
  return wants_step || marks_.Pending().has_value();
}

bool ConsumerSession::AwaitWork() {
  MutexLock lock(mutex_);
  while (!final_.has_value() && !HasWork()) changed_.Wait(mutex_);
  return !final_.has_value();
}

absl::Status ConsumerSession::OneCall(Backoff& backoff, const std::stop_token& stop) {
  const std::shared_ptr<StepStream> stream = stub_->StreamSteps(stop);
  Subscribe(*stream);
  absl::Status status;
  v1::StreamStepsResponse response;
  bool subscribed = false;
  CallProgress progress(backoff, *client_options_.clock,
                        client_options_.backoff.maximum);
  while (status.ok() && stream->Read(response)) {
    progress.Answered();
    if (response.has_subscribed()) {
      status = TakeSubscribed(*response.mutable_subscribed(), stream);
      subscribed = true;
    } else {
      status = subscribed ? Take(response)
                          : DataLoss("the server sent something before `subscribed`");
    }
    if (std::exchange(got_on_, false)) progress.GotOn();
  }
  progress.Ended();
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
  }
  return status.ok() ? stream->Finish() : status;
}

void ConsumerSession::Subscribe(StepStream& stream) const {
  v1::StreamStepsRequest request;
  v1::Subscribe& subscribe = *request.mutable_subscribe();
  subscribe.set_job(options_.job);
  subscribe.set_dp_rank(options_.dp_rank);
  if (options_.cp_rank.has_value()) subscribe.set_cp_rank(*options_.cp_rank);
  subscribe.set_subscriber(options_.subscriber);
  subscribe.set_sends_durable(options_.sends_durable);
  subscribe.set_layout(options_.layout);
  const StepPosition& from = cursor_.position();
  if (from.next.has_value()) subscribe.set_from_step(*from.next);
  if (from.digest.has_value()) subscribe.set_last_digest(DigestBytes(*from.digest));
  if (from.next.has_value() && from.epoch.has_value()) {
    subscribe.set_last_epoch(*from.epoch);
  }
  {
    MutexLock lock(mutex_);
    subscribe.set_credits(buffer_.credits());
    if (subscription_.has_value() && !epoch_ended_.has_value()) {
      subscribe.set_epoch(subscription_->epoch);
    }
  }
  stream.Write(request);
}

absl::Status ConsumerSession::Take(const v1::StreamStepsResponse& response) {
  switch (response.message_case()) {
    case v1::StreamStepsResponse::kStep:
      return TakeStep(response.step());
    case v1::StreamStepsResponse::kDrained:
      return TakeDrained(response.drained().steps(), response.drained().digest());
    case v1::StreamStepsResponse::kDurableMarked: {
      MutexLock lock(mutex_);
      Confirm(response.durable_marked().durable_steps());
      CloseDrainedCall();
      changed_.SignalAll();
      return absl::OkStatus();
    }
    default:
      // Of a later version of the API.
      return absl::OkStatus();
  }
}

absl::Status ConsumerSession::TakeSubscribed(
    v1::Subscribed& subscribed, const std::shared_ptr<StepStream>& stream) {
  const auto previous = DigestFromBytes(subscribed.previous_digest());
  if (!previous.has_value()) {
    return DataLoss("previous_digest: has ", subscribed.previous_digest().size(),
                    " bytes; expected: 16");
  }
  absl::Status status = cursor_.Subscribed(subscribed.from_step(), *previous);
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  Subscription subscription;
  subscription.epoch = subscribed.epoch();
  subscription.spec =
      std::make_shared<const v1::JobSpec>(std::move(*subscribed.mutable_spec()));
  subscription.from_step = subscribed.from_step();
  subscription.durable_steps = subscribed.durable_steps();
  subscription_ = std::move(subscription);
  epoch_ended_.reset();
  if (!handed_out_.next.has_value()) handed_out_ = cursor_.position();
  Confirm(subscribed.durable_steps());
  stream_ = stream;
  buffer_.BeginCall(subscribed.from_step());
  SendSendableMark();
  changed_.SignalAll();
  return absl::OkStatus();
}

void ConsumerSession::Confirm(uint64_t durable_steps) {
  if (durable_steps > marks_.durable_steps()) got_on_ = true;
  marks_.Confirmed(durable_steps);
}

absl::Status ConsumerSession::TakeStep(const v1::Step& message) {
  std::shared_ptr<const v1::JobSpec> spec;
  {
    MutexLock lock(mutex_);
    spec = subscription_->spec;
  }
  // Without the lock, so that the trainer isn't held up.
  absl::StatusOr<RankStep> step = RankStep::FromMessage(message, std::move(spec));
  if (!step.ok()) return step.status();
  if (absl::Status status = CheckAsked(*step); !status.ok()) return status;
  const absl::StatusOr<bool> is_next = cursor_.Came(*step);
  if (!is_next.ok()) return is_next.status();
  if (!*is_next) return absl::OkStatus();
  got_on_ = true;
  MutexLock lock(mutex_);
  if (final_.has_value()) return absl::OkStatus();
  buffer_.Push(*std::move(step));
  SendReceived();
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status ConsumerSession::CheckAsked(const RankStep& step) const {
  if (step.dp_rank() != options_.dp_rank) {
    return DataLoss("step ", step.index(), ": is for dp_rank ", step.dp_rank(),
                    ", not ", options_.dp_rank);
  }
  for (const MicroBatchView& view : step.micro_batches()) {
    // Of a step of an epoch with fewer ranks it has none, as a DP rank has no
    // micro-batches.
    if (options_.cp_rank.has_value() && *options_.cp_rank < view.context_parallel() &&
        view.cp_rank() != options_.cp_rank) {
      return DataLoss("step ", step.index(), ", micro-batch ", view.index(),
                      ": has no slices of cp_rank ", *options_.cp_rank);
    }
  }
  return absl::OkStatus();
}

absl::Status ConsumerSession::TakeDrained(uint64_t steps, const std::string& digest) {
  const auto last = DigestFromBytes(digest);
  if (!last.has_value()) {
    return DataLoss("drained: digest has ", digest.size(), " bytes; expected: 16");
  }
  if (absl::Status status = cursor_.Drained(steps, *last); !status.ok()) return status;
  MutexLock lock(mutex_);
  if (final_.has_value()) return absl::OkStatus();
  drained_ = steps;
  CloseDrainedCall();
  changed_.SignalAll();
  return absl::OkStatus();
}

void ConsumerSession::CloseDrainedCall() {
  if (!drained_.has_value() || stream_ == nullptr || !buffer_.empty()) return;
  if (options_.sends_durable && marks_.durable_steps() < *drained_) return;
  stream_->WritesDone();
  stream_ = nullptr;
}

bool ConsumerSession::GoesOn(const absl::Status& status, Backoff& backoff,
                             const std::stop_token& stop) {
  if (!IsLostCall(status) && !FollowsEpoch(status)) {
    SetFinal(status);
    return false;
  }
  {
    MutexLock lock(mutex_);
    if (final_.has_value()) return false;
    if (!HasWork()) {
      backoff.Reset();
      return true;
    }
    if (!buffer_.empty() && !closing_) backoff.RestartTotal();
  }
  if (WaitToRetry(status, backoff, *client_options_.sleeper, stop)) return true;
  SetFinal(GaveUp(status, backoff));
  return false;
}

bool ConsumerSession::FollowsEpoch(const absl::Status& status) {
  if (!options_.follow_epochs || !absl::IsAborted(status)) return false;
  const ErrorDetails details = DetailsOf(status);
  if (details.reason != kEpochEnded) return false;
  MutexLock lock(mutex_);
  // Of the epoch that is subscribed it is said of a mark whose step was withdrawn.
  const auto epoch = details.metadata.find("epoch");
  if (epoch != details.metadata.end() && subscription_.has_value() &&
      epoch->second == absl::StrCat(subscription_->epoch)) {
    return false;
  }
  epoch_ended_ = status;
  // Some of what waits here may have been withdrawn; the rest will come again.
  buffer_.Clear();
  drained_.reset();
  cursor_.MoveTo(handed_out_);
  return true;
}

void ConsumerSession::SetFinal(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (final_.has_value()) return;
  final_ = status;
  if (epoch_ended_.has_value() && status.code() == absl::StatusCode::kDataLoss) {
    final_ = Annotated(*epoch_ended_,
                       absl::StrCat("; steps that were handed out have been withdrawn, "
                                    "so go back to a checkpoint: ",
                                    status.message()));
  }
  if (absl::IsAborted(*final_) || absl::IsCancelled(*final_)) {
    buffer_.Clear();
    drained_.reset();
  }
  changed_.SignalAll();
}

absl::StatusOr<std::optional<RankStep>> ConsumerSession::Next() {
  const Clock::TimePoint start = client_options_.clock->Now();
  MutexLock lock(mutex_);
  while (buffer_.empty() && !drained_.has_value() && !final_.has_value()) {
    changed_.Wait(mutex_);
  }
  if (buffer_.empty()) {
    if (drained_.has_value()) return std::nullopt;
    return *final_;
  }
  std::optional<RankStep> step = buffer_.Pop();
  HandOut(*step);
  const double waited = SecondsBetween(start, client_options_.clock->Now());
  const bool first = wait_.steps_taken == 0;
  (first ? wait_.first_step_seconds : wait_.seconds) += waited;
  ++wait_.steps_taken;
  if (options_.reports_waits) reporter_.AddStep(first ? 0 : waited);
  changed_.SignalAll();
  return step;
}

void ConsumerSession::HandOut(const RankStep& step) {
  handed_out_ = {step.index() + 1, step.digest(), step.epoch()};
  marks_.HandedOut(step.index(), step.epoch());
  SendReceived();
  CloseDrainedCall();
}

void ConsumerSession::SendReceived() {
  if (stream_ == nullptr) return;
  const std::optional<uint64_t> step = buffer_.TakeReceived();
  if (!step.has_value()) return;
  v1::StreamStepsRequest request;
  request.mutable_received()->set_step(*step);
  stream_->Write(request);
}

absl::StatusOr<Subscription> ConsumerSession::AwaitSubscription() {
  MutexLock lock(mutex_);
  while (!subscription_.has_value() && !final_.has_value()) changed_.Wait(mutex_);
  const bool is_cancelled = final_.has_value() && absl::IsCancelled(*final_);
  if (subscription_.has_value() && !is_cancelled) return *subscription_;
  return *final_;
}

absl::Status ConsumerSession::AcknowledgeDurable(uint64_t step) {
  MutexLock lock(mutex_);
  if (!options_.sends_durable) {
    return absl::FailedPreconditionError(
        "sends_durable: is not set, so this consumer sends no durable marks");
  }
  absl::Status status = marks_.Wanted(step);
  // Then it is unconfirmed.
  if (final_.has_value()) return *final_;
  if (!status.ok()) return status;
  if (const auto mark = marks_.Pending()) SendMarkBehindReport(*mark);
  changed_.SignalAll();
  return absl::OkStatus();
}

void ConsumerSession::SendMarkBehindReport(const DurableMarks::Mark& mark) {
  const bool waits = reporter_.Hurry([this, mark] {
    MutexLock lock(mutex_);
    marks_.Released(mark);
    SendSendableMark();
  });
  if (waits) return;
  marks_.Released(mark);
  SendSendableMark();
}

void ConsumerSession::SendSendableMark() {
  const std::optional<DurableMarks::Mark> mark = marks_.Sendable();
  if (stream_ == nullptr || !mark.has_value()) return;
  v1::StreamStepsRequest request;
  request.mutable_durable()->set_step(mark->step);
  request.mutable_durable()->set_epoch(mark->epoch);
  stream_->Write(request);
}

uint64_t ConsumerSession::durable_steps() const {
  MutexLock lock(mutex_);
  return marks_.durable_steps();
}

std::optional<DurableMarks::Mark> ConsumerSession::unconfirmed_mark() const {
  MutexLock lock(mutex_);
  return marks_.Pending();
}

void ConsumerSession::ReportLatency(const MeasuredLatency& latency) {
  reporter_.AddLatency(latency);
}

void ConsumerSession::ReportWait(double seconds) { reporter_.AddStep(seconds); }

StepWait ConsumerSession::step_wait() const {
  MutexLock lock(mutex_);
  return wait_;
}

size_t ConsumerSession::buffered_steps() const {
  MutexLock lock(mutex_);
  return buffer_.size();
}

absl::Status ConsumerSession::status() const {
  MutexLock lock(mutex_);
  return final_.value_or(absl::OkStatus());
}

absl::Status ConsumerSession::Close() {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    while (marks_.Pending().has_value() && !final_.has_value()) changed_.Wait(mutex_);
    if (marks_.Pending().has_value()) status = *final_;
  }
  reporter_.Finish(thread_.get_stop_token());
  SetFinal(absl::CancelledError("the consumer was closed"));
  thread_.request_stop();
  return status;
}

}  // namespace evenpack::client
