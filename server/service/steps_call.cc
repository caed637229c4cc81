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
#include "server/runtime/mutex.h"
#include "server/runtime/status_detail.h"
#include "server/service/admission.h"
#include "server/service/field_path.h"
#include "server/service/message_bytes.h"
#include "server/service/spec_conversion.h"
#include "server/service/status_conversion.h"
#include "server/service/subscribe_conversion.h"
#include "server/service/where_led.h"

namespace evenpack {
namespace {

// Marks that are not committed; beyond, no more is read.
constexpr int kMaxUncommittedMarks = 64;

using StepsReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

void ToProto(const Subscribed& subscribed, v1::Subscribed& to) {
  to.set_epoch(subscribed.epoch);
  *to.mutable_spec() = DescriptionOf(*subscribed.spec);
  to.set_from_step(subscribed.from_step);
  to.set_previous_digest(DigestBytes(subscribed.previous_digest));
  to.set_durable_steps(subscribed.durable_steps);
}

absl::Status Misplaced(absl::string_view what, absl::string_view where) {
  return InvalidField("message", what, where);
}

// The transport's operations are started under no lock, since they may call back before
// they return.
class StepsCall final : public StepsReactor,
                        public Subscriber,
                        public DrainableCall,
                        public std::enable_shared_from_this<StepsCall> {
 public:
  StepsCall(const ServiceEnvironment& environment,
            const grpc::ServerContextBase& context)
      : environment_(environment), admission_(environment, context, kStepStream) {}

  void Start() {
    self_ = shared_from_this();
    absl::Status status = admission_.Open();
    if (!status.ok()) return End(std::move(status));
    if (!environment_.calls.steps.Add(self_)) {
      return End(TooManyCalls(environment_.calls.steps));
    }
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    const auto self = shared_from_this();
    if (!ok) {
      if (job_ == nullptr) return End(Misplaced("none", "subscribe"));
      {
        MutexLock lock(mutex_);
        half_closed_ = true;
      }
      return Pump();
    }
    v1::StreamStepsRequest request;
    absl::Status status = ReadMessage(request_, request);
    if (status.ok()) status = Take(request);
    if (!status.ok()) return End(std::move(status));
    {
      MutexLock lock(mutex_);
      held_back_ = true;
    }
    ReadOn();
  }

  void OnWriteDone(bool ok) override {
    const auto self = shared_from_this();
    std::shared_ptr<const PublishedStep> delivered;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      delivered = std::move(writing_step_);
    }
    if (!ok) return End(absl::CancelledError("the client is gone"));
    if (delivered != nullptr) job_->CountDelivery(*delivered);
    Pump();
  }

  void OnCancel() override {
    const auto self = shared_from_this();
    End(absl::CancelledError("the client cancelled the call"));
  }

  void OnDone() override {
    const auto self = std::move(self_);
    admission_.GiveBack();
    if (const auto held = subscription(); held != nullptr) job_->Unsubscribe(*held);
    environment_.calls.steps.Remove(self);
  }

  void Wake() override {
    const auto self = shared_from_this();
    Pump();
  }

  void Drain() override {
    const auto self = shared_from_this();
    End(Draining());
  }

  void RolesChanged() override {
    const auto self = shared_from_this();
    if (absl::Status status = admission_.Recheck(); !status.ok()) {
      End(std::move(status));
    }
  }

 private:
  // From OnReadDone alone, so one at a time.
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
                          [self = shared_from_this()](const absl::Status& status) {
                            self->MarkDone(status);
                          });
        return absl::OkStatus();
      default:
        return Misplaced(request.has_subscribe() ? "a second subscribe" : "nothing",
                         "received or durable");
    }
  }

  absl::Status Subscribe(const v1::Subscribe& from) {
    absl::Status admitted = admission_.Name(from.job());
    if (!admitted.ok()) return admitted;
    absl::StatusOr<std::shared_ptr<Job>> job = environment_.jobs.Find(from.job());
    if (!job.ok()) return job.status();
    const absl::StatusOr<SubscribeRequest> request = FromProto(from);
    if (!request.ok()) return Under("subscribe", request.status());
    absl::Status status = admission_.Hold((*job)->name());
    if (!status.ok()) return status;
    const absl::StatusOr<Subscribed> subscribed =
        (*job)->Subscribe(*request, shared_from_this());
    if (!subscribed.ok()) return Under("subscribe", subscribed.status());
    job_ = *std::move(job);
    view_ = {request->dp_rank, request->cp_rank};
    v1::StreamStepsResponse response;
    ToProto(*subscribed, *response.mutable_subscribed());
    {
      MutexLock lock(mutex_);
      first_ = MessageBytes(response);
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
      // Until the transport knows of the read, it would take a finished call for done.
      ++starting_reads_;
    }
    StartRead(&request_);
    {
      MutexLock lock(mutex_);
      --starting_reads_;
    }
    Pump();
  }

  std::shared_ptr<Subscription> subscription() {
    MutexLock lock(mutex_);
    return subscription_;
  }

  void End(absl::Status status) {
    {
      MutexLock lock(mutex_);
      if (!ending_.has_value()) ending_ = std::move(status);
    }
    Pump();
  }

  // Writes or finishes, where that is next.
  void Pump() {
    bool write = false;
    std::optional<absl::Status> finish;
    {
      MutexLock lock(mutex_);
      if (finished_ || writing_ || starting_reads_ > 0) return;
      if (!ending_.has_value() && subscription_ != nullptr) writing_ = TakeNext();
      write = writing_;
      finished_ = !write && ending_.has_value();
      if (finished_) finish = ending_;
    }
    if (write) StartWrite(&response_, options_);
    if (!finish.has_value()) return;
    // The call lives until it is finished.
    EndWhereLed(environment_, *finish, [this](const absl::Status& status) {
      environment_.errors.Count(status);
      Finish(ToGrpc(status));
    });
  }

  // True where response_ is to be written.
  bool TakeNext() EVENPACK_REQUIRES(mutex_) {
    options_ = {};
    if (first_.has_value()) {
      response_ = *std::exchange(first_, std::nullopt);
      return true;
    }
    NextMessage next = job_->Next(*subscription_);
    v1::StreamStepsResponse response;
    if (auto* step = std::get_if<SendStep>(&next)) {
      response_ = step->shared ? environment_.messages.Get(step->step, view_)
                               : EncodeStep(*step->step, view_);
      const uint64_t limit = environment_.max_message_bytes;
      if (limit > 0 && response_.Length() > limit) {
        ending_ = AnswerTooLarge("StreamStepsResponse", response_.Length(), limit);
        return false;
      }
      writing_step_ = std::move(step->step);
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

  const ServiceEnvironment environment_;
  StreamAdmission admission_;
  // Until the call is done.
  std::shared_ptr<StepsCall> self_;
  // Of the reads, which come one at a time.
  grpc::ByteBuffer request_;
  // Set by the first read, constant from then on.
  std::shared_ptr<Job> job_;
  StepView view_;
  // Of the write under way.
  grpc::ByteBuffer response_;
  grpc::WriteOptions options_;

  Mutex mutex_;
  std::shared_ptr<Subscription> subscription_ EVENPACK_GUARDED_BY(mutex_);
  // What goes before all others.
  std::optional<grpc::ByteBuffer> first_ EVENPACK_GUARDED_BY(mutex_);
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const PublishedStep> writing_step_ EVENPACK_GUARDED_BY(mutex_);
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  // request_ is taken, and may be read into again.
  bool held_back_ EVENPACK_GUARDED_BY(mutex_) = false;
  int starting_reads_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int uncommitted_marks_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Not OK: the call ends so once there is nothing to be sent.
  absl::Status refused_mark_ EVENPACK_GUARDED_BY(mutex_);
  // With what the call ends, once nothing is being written.
  std::optional<absl::Status> ending_ EVENPACK_GUARDED_BY(mutex_);
  bool finished_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStepsCall(
    const ServiceEnvironment& environment, const grpc::ServerContextBase& context) {
  const auto call = std::make_shared<StepsCall>(environment, context);
  call->Start();
  return call.get();
}

}  // namespace evenpack
