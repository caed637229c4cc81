#include "server/service/steps_call.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/control/store_failure.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/runtime/status_detail.h"
#include "server/service/admission.h"
#include "server/service/field_path.h"
#include "server/service/job_stream_call.h"
#include "server/service/message_bytes.h"
#include "server/service/subscribe_conversion.h"
#include "server/service/subscribed_message.h"

namespace evenpack {
namespace {

// Marks that are not committed; beyond, no more is read.
constexpr int kMaxUncommittedMarks = 64;

absl::Status Misplaced(absl::string_view what, absl::string_view where) {
  return InvalidField("message", what, where);
}

class StepsCall final : public JobStreamCall, public Subscriber {
 public:
  StepsCall(const ServiceEnvironment& environment,
            const grpc::ServerContextBase& context)
      : JobStreamCall(environment, context, kStepStream, environment.calls.steps) {}

  void Wake() override {
    const auto self = shared_from_this();
    Pump();
  }

 private:
  void ReadDone(bool ok) override {
    if (!ok) {
      if (job_ == nullptr) return End(Misplaced("none", "subscribe"));
      {
        MutexLock lock(mutex_);
        half_closed_ = true;
      }
      return Pump();
    }
    v1::StreamStepsRequest request;
    absl::Status status = ReadMessage(bytes_, request);
    if (status.ok()) status = Take(request);
    if (!status.ok()) return End(std::move(status));
    {
      MutexLock lock(mutex_);
      held_back_ = true;
    }
    ReadOn();
  }

  // From ReadDone alone, so one at a time.
  absl::Status Take(const v1::StreamStepsRequest& request) {
    if (job_ == nullptr) {
      if (!request.has_subscribe()) {
        return Misplaced("another message", "subscribe as the first of a call");
      }
      return Subscribe(request.subscribe());
    }
    switch (request.message_case()) {
      case v1::StreamStepsRequest::kReceived:
        return job_->Received(*subscription(), request.received().step());
      case v1::StreamStepsRequest::kDurable: {
        MutexLock lock(mutex_);
        ++uncommitted_marks_;
      }
        job_->MarkDurable(subscription(), request.durable().step(),
                          request.durable().epoch(),
                          [self = SelfAs<StepsCall>()](const absl::Status& status) {
                            self->MarkDone(status);
                          });
        return absl::OkStatus();
      default:
        return Misplaced(request.has_subscribe() ? "a second subscribe" : "nothing",
                         "received or durable");
    }
  }

  absl::Status Subscribe(const v1::Subscribe& from) {
    absl::StatusOr<std::shared_ptr<Job>> job = FindJob(from.job());
    if (!job.ok()) return job.status();
    const absl::StatusOr<SubscribeRequest> request = FromProto(from);
    if (!request.ok()) return Under("subscribe", request.status());
    absl::Status status = Hold(**job);
    if (!status.ok()) return status;
    const absl::StatusOr<Subscribed> subscribed =
        (*job)->Subscribe(*request, SelfAs<StepsCall>());
    if (!subscribed.ok()) return Under("subscribe", subscribed.status());
    job_ = *std::move(job);
    view_ = {request->dp_rank, request->cp_rank};
    {
      MutexLock lock(mutex_);
      first_ = EncodeSubscribed(*subscribed);
      subscription_ = subscribed->subscription;
    }
    Pump();
    return absl::OkStatus();
  }

  void MarkDone(const absl::Status& status) {
    // Steps that are committed need not wait for the store.
    const bool may_wait = IsStoreFailure(status);
    {
      MutexLock lock(mutex_);
      --uncommitted_marks_;
      if (may_wait) refused_mark_ = status;
    }
    if (!status.ok() && !may_wait) return End(status);
    ReadOn();
    Pump();
  }

  // Starts the next read, or leaves that to a commit.
  void ReadOn() {
    {
      MutexLock lock(mutex_);
      if (ending_.has_value() || uncommitted_marks_ >= kMaxUncommittedMarks) return;
      if (!std::exchange(held_back_, false)) return;
      ReadIsNext();
    }
    ReadNext();
  }

  std::shared_ptr<Subscription> subscription() {
    MutexLock lock(mutex_);
    return subscription_;
  }

  void LeaveJob() override { job_->Unsubscribe(*subscription()); }

  void Written(bool ok) override {
    const auto ready = std::exchange(step_ready_, std::nullopt);
    if (ok && ready.has_value()) job_->CountDelivery(*ready);
  }

  bool TakeNext() override EVENPACK_REQUIRES(mutex_) {
    if (ending_.has_value() || subscription_ == nullptr) return false;
    options_ = {};
    if (first_.has_value()) {
      response_ = *std::exchange(first_, std::nullopt);
      return Fits("StreamStepsResponse");
    }
    NextMessage next = job_->Next(*subscription_);
    v1::StreamStepsResponse response;
    if (auto* step = std::get_if<SendStep>(&next)) {
      response_ = step->shared ? environment_.messages.Get(step->step, view_)
                               : EncodeStep(*step->step, view_);
      if (!Fits("StreamStepsResponse")) return false;
      step_ready_ = step->ready;
      // What another message follows at once may wait for it on its way out.
      if (step->more) options_.set_buffer_hint();
      return true;
    }
    if (const auto* ended = std::get_if<EndCall>(&next)) {
      ending_ = ended->status;
      return false;
    }
    if (const auto* nothing = std::get_if<NothingYet>(&next)) {
      // Marks are answered first.
      if (uncommitted_marks_ > 0) return false;
      if (!refused_mark_.ok()) {
        ending_ = refused_mark_;
      } else if (half_closed_ && nothing->waits_for_subscriber) {
        ending_ = absl::OkStatus();
      }
      return false;
    }
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

  // Set with job_.
  StepView view_;
  // Of the write under way, where it is a step's.
  std::optional<Clock::TimePoint> step_ready_;

  std::shared_ptr<Subscription> subscription_ EVENPACK_GUARDED_BY(mutex_);
  // What goes before all others.
  std::optional<grpc::ByteBuffer> first_ EVENPACK_GUARDED_BY(mutex_);
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  // bytes_ are taken, and may be read into again.
  bool held_back_ EVENPACK_GUARDED_BY(mutex_) = false;
  int uncommitted_marks_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Not OK: the call ends so once there is nothing to be sent.
  absl::Status refused_mark_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace

StreamReactor* StartStepsCall(const ServiceEnvironment& environment,
                              const grpc::ServerContextBase& context) {
  const auto call = std::make_shared<StepsCall>(environment, context);
  call->Start();
  return call.get();
}

}  // namespace evenpack
