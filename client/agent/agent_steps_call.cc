#include "client/agent/agent_steps_call.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/agent/hidden_leaders.h"
#include "client/agent/status_relay.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/mutex.h"
#include "server/runtime/status_detail.h"
#include "server/service/message_bytes.h"
#include "server/service/stream_call.h"

namespace evenpack::agent {
namespace {

absl::Status AgentDrains() {
  return WithDetail(
      absl::UnavailableError("agent: it is shutting down; connect again once it is "
                             "back"),
      {kDraining, {}});
}

absl::Status TooManySubscriptions(const LiveCalls& calls) {
  return WithDetail(
      absl::ResourceExhaustedError(absl::StrCat("calls: there are ", calls.limit(),
                                                " subscriptions, as many as this agent "
                                                "holds")),
      {kTooManyCalls, {{"limit", absl::StrCat(calls.limit())}}});
}

absl::Status MisplacedMessage(absl::string_view what, absl::string_view where) {
  return InvalidField("message", what, where);
}

// Shares the bytes.
grpc::ByteBuffer BufferOf(const HeldStep::Encoded& bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the slice's own way to own it.
  auto* held = new HeldStep::Encoded(bytes);
  const auto let_go = [](void* given) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): as above.
    delete static_cast<HeldStep::Encoded*>(given);
  };
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): gRPC writes to no slice.
  const grpc::Slice slice(const_cast<char*>(bytes->data()), bytes->size(), let_go,
                          held);
  return {&slice, 1};
}

// As the server's (steps_call.cc), with a feed in place of the job.
class AgentStepsCall final : public StreamCall, public Subscriber {
 public:
  explicit AgentStepsCall(const StepsCallEnvironment& environment)
      : StreamCall(environment.calls), feeds_(environment.feeds) {}

  void Wake() override {
    const auto self = shared_from_this();
    Pump();
  }

  void Drain() override {
    const auto self = shared_from_this();
    End(AgentDrains());
  }

 private:
  void ReadDone(bool ok) override {
    if (!ok) {
      if (!asked_) return End(MisplacedMessage("none", "subscribe"));
      {
        MutexLock lock(mutex_);
        half_closed_ = true;
      }
      return Pump();
    }
    v1::StreamStepsRequest request;
    absl::Status status = ReadMessage(bytes_, request);
    if (status.ok() && !asked_) return Subscribe(request);
    if (status.ok()) status = Take(request);
    if (!status.ok()) return End(std::move(status));
    Read();
  }

  absl::Status Admit() override { return absl::OkStatus(); }
  absl::Status TooMany(const LiveCalls& calls) override {
    return TooManySubscriptions(calls);
  }
  void Ending() override { asking_.request_stop(); }
  void FinishWith(const absl::Status& status) override {
    Finish(Relayed(WithoutLeader(status)));
  }
  void Left() override {
    if (const auto held = subscription(); held.has_value()) feeds_.Leave(*held);
  }

  // Nothing is read until the server has answered.
  void Subscribe(const v1::StreamStepsRequest& request) {
    if (!request.has_subscribe()) {
      return End(
          MisplacedMessage("another message", "subscribe as the first of a call"));
    }
    asked_ = true;
    feeds_.Subscribe(
        request.subscribe(), SelfAs<AgentStepsCall>(), asking_.get_token(),
        [self = SelfAs<AgentStepsCall>()](absl::StatusOr<FeedSubscription> made) {
          self->Subscribed(std::move(made));
        });
  }

  void Subscribed(absl::StatusOr<FeedSubscription> made) {
    if (!made.ok()) return End(made.status());
    bool too_late = false;
    {
      MutexLock lock(mutex_);
      too_late = finished_;
      if (!too_late) {
        subscription_ = *made;
        first_ = BufferOf(made->subscribed);
        ReadIsNext();
      }
    }
    if (too_late) return feeds_.Leave(*made);
    ReadNext();
  }

  // From ReadDone alone, so one at a time.
  absl::Status Take(const v1::StreamStepsRequest& request) {
    const FeedSubscription held = *subscription();
    switch (request.message_case()) {
      case v1::StreamStepsRequest::kReceived:
        return held.feed->Received(*held.local, request.received().step());
      case v1::StreamStepsRequest::kDurable:
        return held.feed->MarkDurable(
            *held.local, {request.durable().step(), request.durable().epoch()});
      default:
        return MisplacedMessage(
            request.has_subscribe() ? "a second subscribe" : "nothing",
            "received or durable");
    }
  }

  std::optional<FeedSubscription> subscription() {
    MutexLock lock(mutex_);
    return subscription_;
  }

  bool TakeNext() override EVENPACK_REQUIRES(mutex_) {
    if (ending_.has_value() || !subscription_.has_value()) return false;
    options_ = {};
    if (first_.has_value()) {
      response_ = *std::exchange(first_, std::nullopt);
      return true;
    }
    const LocalMessage next = subscription_->feed->Next(subscription_->local);
    if (const auto* held = std::get_if<SendHeld>(&next)) return TakeView(*held);
    if (const auto* ended = std::get_if<EndCall>(&next)) {
      ending_ = ended->status;
      return false;
    }
    if (const auto* nothing = std::get_if<NothingYet>(&next)) {
      if (half_closed_ && nothing->waits_for_subscriber) ending_ = absl::OkStatus();
      return false;
    }
    v1::StreamStepsResponse response;
    if (const auto* marked = std::get_if<SendMarked>(&next)) {
      response.mutable_durable_marked()->set_durable_steps(marked->durable_steps);
    } else {
      const auto& drained = std::get<SendDrained>(next);
      response.mutable_drained()->set_steps(drained.steps);
      response.mutable_drained()->set_digest(DigestBytes(drained.digest));
    }
    response_ = MessageBytes(response);
    return true;
  }

  bool TakeView(const SendHeld& held) EVENPACK_REQUIRES(mutex_) {
    const auto view = held.step->View(subscription_->local->at.request.cp_rank);
    if (!view.ok()) {
      ending_ = view.status();
      return false;
    }
    response_ = BufferOf(*view);
    // What another message follows at once may wait for it on its way out.
    if (held.more) options_.set_buffer_hint();
    return true;
  }

  StepFeeds& feeds_;
  // Of the reads, which come one at a time.
  bool asked_ = false;
  // Has the server's answer no longer awaited.
  std::stop_source asking_;

  std::optional<FeedSubscription> subscription_ EVENPACK_GUARDED_BY(mutex_);
  // What goes before all others.
  std::optional<grpc::ByteBuffer> first_ EVENPACK_GUARDED_BY(mutex_);
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

StreamReactor* StartAgentStepsCall(const StepsCallEnvironment& environment) {
  const auto call = std::make_shared<AgentStepsCall>(environment);
  call->Start();
  return call.get();
}

}  // namespace evenpack::agent
