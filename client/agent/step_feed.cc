#include "client/agent/step_feed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/data_loss.h"
#include "client/cpp/error_details.h"
#include "client/cpp/retry.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/log.h"
#include "server/service/layout_names.h"

namespace evenpack::agent {
namespace {

using client::Backoff;
using client::DataLoss;
using client::StepStream;

// A server that is back is found soon, and nobody waits for an attempt that is the
// last.
constexpr std::chrono::milliseconds kLongestWait{2000};
constexpr std::chrono::milliseconds kNoEnd = std::chrono::hours(24) * 3650;

client::BackoffOptions Endless(client::BackoffOptions options) {
  options.maximum = std::max(options.initial, std::min(options.maximum, kLongestWait));
  options.total = kNoEnd;
  return options;
}

// A subscription to one step, as who needs it has its own: the server answers as it
// would answer that one. Its name is left out, since another node may have one of that
// name: they would take each other's claim.
v1::StreamStepsRequest QuestionFor(const FetchStep& fetch, const FeedKey& key,
                                   const SubscribeRequest& whose) {
  v1::StreamStepsRequest question;
  v1::Subscribe& subscribe = *question.mutable_subscribe();
  subscribe.set_job(key.job);
  subscribe.set_dp_rank(key.dp_rank);
  subscribe.set_epoch(key.epoch);
  if (whose.cp_rank.has_value()) subscribe.set_cp_rank(*whose.cp_rank);
  if (whose.layout.has_value()) subscribe.set_layout(ToProto(*whose.layout));
  subscribe.set_from_step(fetch.step);
  subscribe.set_last_digest(DigestBytes(fetch.previous));
  subscribe.set_credits(1);
  return question;
}

}  // namespace

std::string ShapeOf(const v1::JobSpec& spec) {
  v1::JobSpec shape = spec;
  shape.clear_cost();
  return shape.SerializeAsString();
}

StepFeed::StepFeed(FeedUpstream upstream, FeedKey key, std::string shape,
                   const client::StepPosition& start, const StepFan::Bounds& bounds)
    : upstream_(std::move(upstream)),
      key_(std::move(key)),
      shape_(std::move(shape)),
      fan_(key_.epoch, start, bounds),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void StepFeed::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void StepFeed::Run(const std::stop_token& stop) {
  Backoff backoff(Endless(upstream_.options.backoff), *upstream_.options.clock,
                  upstream_.options.random);
  while (!stop.stop_requested()) {
    const absl::Status status = OneCall(backoff, stop);
    if (!GoesOn(status, backoff, stop)) return;
    MutexLock lock(mutex_);
    ++figures_.reconnects;
  }
}

absl::Status StepFeed::OneCall(Backoff& backoff, const std::stop_token& stop) {
  std::stop_source call;
  {
    MutexLock lock(mutex_);
    call_ = call;
    reopening_ = false;
  }
  const std::stop_callback on_stop(stop, [&call] { call.request_stop(); });
  const std::shared_ptr<StepStream> stream =
      upstream_.stub->StreamSteps(call.get_token());
  Subscribe(*stream);
  absl::Status status;
  v1::StreamStepsResponse response;
  while (status.ok() && stream->Read(response)) {
    status = Take(response, stream);
    if (status.ok()) backoff.Reset();
  }
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    fan_.Lost();
  }
  return status.ok() ? stream->Finish() : status;
}

void StepFeed::Subscribe(StepStream& stream) {
  v1::StreamStepsRequest request;
  v1::Subscribe& subscribe = *request.mutable_subscribe();
  subscribe.set_job(key_.job);
  subscribe.set_dp_rank(key_.dp_rank);
  subscribe.set_subscriber(upstream_.subscriber);
  subscribe.set_epoch(key_.epoch);
  {
    MutexLock lock(mutex_);
    const StepFan::Request asked = fan_.BeginCall();
    subscribe.set_from_step(*asked.from.next);
    subscribe.set_last_digest(DigestBytes(*asked.from.digest));
    subscribe.set_credits(asked.credits);
    subscribe.set_sends_durable(asked.sends_durable);
  }
  stream.Write(request);
}

absl::Status StepFeed::Take(v1::StreamStepsResponse& response,
                            const std::shared_ptr<StepStream>& stream) {
  switch (response.message_case()) {
    case v1::StreamStepsResponse::kSubscribed:
      return TakeSubscribed(response.subscribed(), stream);
    case v1::StreamStepsResponse::kStep:
      return TakeStep(std::move(*response.mutable_step()));
    case v1::StreamStepsResponse::kDurableMarked:
      return Update([&](StepFan& fan) {
        fan.Marked(response.durable_marked().durable_steps());
        return absl::OkStatus();
      });
    case v1::StreamStepsResponse::kDrained: {
      const auto digest = DigestFromBytes(response.drained().digest());
      if (!digest.has_value()) return DataLoss("drained: digest has not 16 bytes");
      return Update([&](StepFan& fan) {
        return fan.Drained(response.drained().steps(), *digest);
      });
    }
    default:
      // Of a later version of the API.
      return absl::OkStatus();
  }
}

absl::Status StepFeed::TakeSubscribed(const v1::Subscribed& subscribed,
                                      const std::shared_ptr<StepStream>& stream) {
  const auto previous = DigestFromBytes(subscribed.previous_digest());
  if (!previous.has_value()) return DataLoss("previous_digest has not 16 bytes");
  if (ShapeOf(subscribed.spec()) != shape_) {
    MadeAnew();
    return absl::UnavailableError("the job was made anew");
  }
  {
    MutexLock lock(mutex_);
    stream_ = stream;
  }
  return Update([&](StepFan& fan) {
    return fan.Subscribed(subscribed.from_step(), *previous,
                          subscribed.durable_steps());
  });
}

absl::Status StepFeed::TakeStep(v1::Step step) {
  auto held = HeldStep::Whole(std::move(step));
  if (!held.ok()) return held.status();
  {
    MutexLock lock(mutex_);
    ++figures_.steps_received;
  }
  return Update([&](StepFan& fan) { return fan.Push(*std::move(held)); });
}

bool StepFeed::GoesOn(const absl::Status& status, Backoff& backoff,
                      const std::stop_token& stop) {
  {
    MutexLock lock(mutex_);
    if (stop.stop_requested() || fan_.over()) return false;
    if (reopening_) return true;
  }
  if (client::IsLostCall(status)) {
    Log(LogLevel::kWarning, "upstream call lost",
        {{"job", key_.job}, {"error", std::string(status.message())}});
    return WaitToRetry(status, backoff, *upstream_.options.sleeper, stop);
  }
  if (client::DetailsOf(status).reason == kAnswerTooLarge && PassOver(backoff, stop)) {
    return true;
  }
  bool again = false;
  static_cast<void>(Update([&](StepFan& fan) {
    again = fan.Ended(status);
    return absl::OkStatus();
  }));
  return again;
}

bool StepFeed::PassOver(Backoff& backoff, const std::stop_token& stop) {
  v1::StreamStepsRequest question;
  {
    MutexLock lock(mutex_);
    const auto next = fan_.PartOfNext();
    if (!next.has_value()) return false;
    SubscribeRequest part;
    part.cp_rank = next->cp_rank;
    question = QuestionAlone(next->step, part);
  }
  const auto held = AskAlone(question, stop);
  if (held.ok()) {
    return Update([&](StepFan& fan) { return fan.PassOver(**held); }).ok();
  }
  return client::IsLostCall(held.status()) &&
         WaitToRetry(held.status(), backoff, *upstream_.options.sleeper, stop);
}

v1::StreamStepsRequest StepFeed::QuestionAlone(const FetchStep& fetch,
                                               const SubscribeRequest& whose) {
  v1::StreamStepsRequest question = QuestionFor(fetch, key_, whose);
  // Nobody has that name, at this node or another, nor has a feed that was in the place
  // of this one.
  static std::atomic<uint64_t> questions = 0;
  question.mutable_subscribe()->set_subscriber(
      absl::StrCat(upstream_.subscriber, "-", ++questions));
  return question;
}

void StepFeed::Say() {
  if (stream_ == nullptr) return;
  v1::StreamStepsRequest request;
  if (const auto received = fan_.TakeReceived(); received.has_value()) {
    request.mutable_received()->set_step(*received);
    stream_->Write(request);
  }
  while (const auto mark = fan_.TakeMark()) {
    request.mutable_durable()->set_step(mark->step);
    request.mutable_durable()->set_epoch(mark->epoch);
    stream_->Write(request);
  }
  if (!fan_.NeedsClaim()) return;
  // The claim is had with a new call, which takes the place of this one.
  reopening_ = true;
  stream_ = nullptr;
  call_.request_stop();
}

absl::Status StepFeed::Update(const std::function<absl::Status(StepFan&)>& change) {
  absl::Status status;
  std::vector<std::shared_ptr<Subscriber>> woken;
  {
    MutexLock lock(mutex_);
    status = change(fan_);
    Say();
    woken = fan_.TakeWoken();
  }
  for (const std::shared_ptr<Subscriber>& subscriber : woken) subscriber->Wake();
  return status;
}

StepFan::Local StepFeed::Add(const SubscribeRequest& request, uint64_t from,
                             const Digest128& previous,
                             std::shared_ptr<Subscriber> subscriber,
                             uint64_t durable_steps) {
  StepFan::Local local;
  static_cast<void>(Update([&](StepFan& fan) {
    local = fan.Add(request, from, previous, std::move(subscriber), durable_steps);
    return absl::OkStatus();
  }));
  return local;
}

void StepFeed::Remove(LocalSubscription& local) {
  local.left.request_stop();
  static_cast<void>(Update([&](StepFan& fan) {
    fan.Remove(local);
    return absl::OkStatus();
  }));
}

LocalMessage StepFeed::Next(const StepFan::Local& local) {
  MutexLock lock(mutex_);
  LocalMessage next = fan_.Next(*local);
  // Room was made, perhaps.
  Say();
  const auto* fetch = std::get_if<FetchStep>(&next);
  if (fetch == nullptr) return next;
  Fetch(local, *fetch);
  local->at.idle = true;
  return NothingYet{};
}

void StepFeed::Fetch(const StepFan::Local& local, const FetchStep& fetch) {
  const v1::StreamStepsRequest question = QuestionAlone(fetch, local->at.request);
  upstream_.pool->Run([self = shared_from_this(), local, question] {
    absl::StatusOr<std::shared_ptr<const HeldStep>> held =
        self->AwaitFetched(*local, question);
    {
      MutexLock lock(self->mutex_);
      ++self->figures_.steps_fetched;
    }
    static_cast<void>(self->Update([&](StepFan& fan) {
      fan.Fetched(*local, std::move(held));
      return absl::OkStatus();
    }));
  });
}

absl::StatusOr<std::shared_ptr<const HeldStep>> StepFeed::AwaitFetched(
    const LocalSubscription& local, const v1::StreamStepsRequest& question) const {
  std::stop_source gives_up = local.left;
  const std::stop_callback on_stop(upstream_.stop, [&] { gives_up.request_stop(); });
  const std::stop_token stop = gives_up.get_token();
  Backoff backoff(Endless(upstream_.options.backoff), *upstream_.options.clock,
                  upstream_.options.random);
  for (;;) {
    auto held = AskAlone(question, stop);
    if (held.ok() || !client::IsLostCall(held.status())) return held;
    if (!WaitToRetry(held.status(), backoff, *upstream_.options.sleeper, stop)) {
      return held;
    }
  }
}

absl::StatusOr<std::shared_ptr<const HeldStep>> StepFeed::AskAlone(
    const v1::StreamStepsRequest& question, const std::stop_token& stop) const {
  const std::unique_ptr<StepStream> stream = upstream_.stub->StreamSteps(stop);
  stream->Write(question);
  v1::StreamStepsResponse answer;
  while (stream->Read(answer)) {
    if (answer.has_step()) return HeldStep::OneView(std::move(*answer.mutable_step()));
  }
  absl::Status status = stream->Finish();
  return status.ok() ? absl::UnavailableError("the server ended the call") : status;
}

absl::Status StepFeed::Received(LocalSubscription& local, uint64_t step) {
  return Update([&](StepFan& fan) { return fan.Received(local, step); });
}

absl::Status StepFeed::MarkDurable(LocalSubscription& local,
                                   const StepFan::Mark& mark) {
  return Update([&](StepFan& fan) { return fan.MarkDurable(local, mark); });
}

void StepFeed::MadeAnew() {
  static_cast<void>(Update([](StepFan& fan) {
    fan.MadeAnew();
    return absl::OkStatus();
  }));
}

void StepFeed::SetBytes(uint64_t bytes) {
  MutexLock lock(mutex_);
  fan_.SetBytes(bytes);
}

bool StepFeed::over() const {
  MutexLock lock(mutex_);
  return fan_.over();
}

FeedFigures StepFeed::figures() const {
  MutexLock lock(mutex_);
  FeedFigures figures = figures_;
  figures.held_steps = fan_.held_steps();
  figures.held_bytes = fan_.held_bytes();
  figures.connected = fan_.connected();
  return figures;
}

}  // namespace evenpack::agent
