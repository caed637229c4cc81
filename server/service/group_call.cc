#include "server/service/group_call.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/mutex.h"
#include "server/service/admission.h"
#include "server/service/field_path.h"
#include "server/service/message_bytes.h"
#include "server/service/status_conversion.h"
#include "server/service/where_led.h"
#include "server/sessions/group_table.h"

namespace evenpack {
namespace {

using GroupReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Of all but ConnectMessages. False where there is nothing to tell.
bool ToProto(const MemberMessage& message, v1::JoinGroupResponse& to) {
  to.Clear();
  if (const auto* stands = std::get_if<EpochStands>(&message)) {
    to.mutable_stands()->set_epoch(stands->epoch);
  } else if (const auto* give_up = std::get_if<GiveUpEpoch>(&message)) {
    to.mutable_give_up()->set_epoch(give_up->epoch);
  }
  return to.message_case() != v1::JoinGroupResponse::MESSAGE_NOT_SET;
}

// The transport's operations are started under no lock, since they may call back before
// they return.
class GroupCall final : public GroupReactor,
                        public Subscriber,
                        public DrainableCall,
                        public std::enable_shared_from_this<GroupCall> {
 public:
  GroupCall(const ServiceEnvironment& environment,
            const grpc::ServerContextBase& context)
      : environment_(environment), admission_(environment, context, kGroupStream) {}

  void Start() {
    self_ = shared_from_this();
    absl::Status status = admission_.Open();
    if (!status.ok()) return End(std::move(status));
    if (!environment_.calls.groups.Add(self_)) {
      return End(TooManyCalls(environment_.calls.groups));
    }
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    const auto self = shared_from_this();
    if (!ok) {
      // Who says no more has no use for what it would be told.
      return End(joined() ? absl::OkStatus()
                          : InvalidField("message", "none", "open, then state"));
    }
    absl::Status status = ReadMessage(bytes_, request_);
    if (status.ok()) status = job_ == nullptr ? Open() : Tell();
    if (!status.ok()) return End(std::move(status));
    StartRead(&bytes_);
  }

  void OnWriteDone(bool ok) override {
    const auto self = shared_from_this();
    {
      MutexLock lock(mutex_);
      writing_ = false;
      writing_connect_.reset();
    }
    if (!ok) return End(absl::CancelledError("the client is gone"));
    Pump();
  }

  void OnCancel() override {
    const auto self = shared_from_this();
    End(absl::CancelledError("the client cancelled the call"));
  }

  void OnDone() override {
    const auto self = std::move(self_);
    admission_.GiveBack();
    if (job_ != nullptr) job_->groups().Leave(seat_, *self);
    environment_.calls.groups.Remove(self);
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
  absl::Status Open() {
    if (!request_.has_open()) {
      return InvalidField("message", "another message", "open as the first of a call");
    }
    const v1::OpenGroup& open = request_.open();
    absl::Status admitted = admission_.Name(open.job());
    if (!admitted.ok()) return admitted;
    absl::StatusOr<std::shared_ptr<Job>> job = environment_.jobs.Find(open.job());
    if (!job.ok()) return job.status();
    seat_ = {open.dp_rank(), open.cp_size(), open.cp_rank(), open.member()};
    absl::Status status = (*job)->CheckSeat(seat_);
    if (status.ok()) {
      status = admission_.Hold((*job)->name());
    }
    if (status.ok()) job_ = *std::move(job);
    return Under("open", status);
  }

  absl::Status Tell() {
    if (!request_.has_state()) {
      return InvalidField("message", request_.has_open() ? "a second open" : "nothing",
                          "state");
    }
    const v1::MemberState& state = request_.state();
    const MemberState told = {state.address(), state.epoch(), state.connected()};
    GroupTable& groups = job_->groups();
    const absl::StatusOr<GroupTable::Members> woken =
        joined() ? groups.Tell(seat_, told, *this)
                 : groups.Join(seat_, told, shared_from_this());
    if (!woken.ok()) return Under("state", woken.status());
    {
      MutexLock lock(mutex_);
      joined_ = true;
    }
    for (const std::shared_ptr<Subscriber>& member : *woken) member->Wake();
    return absl::OkStatus();
  }

  bool joined() {
    MutexLock lock(mutex_);
    return joined_;
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
      if (finished_ || writing_) return;
      if (!ending_.has_value() && joined_) writing_ = TakeNext();
      write = writing_;
      finished_ = !write && ending_.has_value();
      if (finished_) finish = ending_;
    }
    if (write) StartWrite(&response_);
    if (!finish.has_value()) return;
    // The call lives until it is finished.
    EndWhereLed(environment_, *finish, [this](const absl::Status& status) {
      environment_.errors.Count(status);
      Finish(ToGrpc(status));
    });
  }

  // True where response_ is to be written.
  bool TakeNext() EVENPACK_REQUIRES(mutex_) {
    v1::JoinGroupResponse response;
    if (!std::exchange(joined_told_, true)) {
      response.mutable_joined();
    } else {
      const absl::StatusOr<MemberMessage> next = job_->groups().Next(seat_, *this);
      if (!next.ok()) ending_ = next.status();
      if (!next.ok()) return false;
      if (const auto* connect = std::get_if<ConnectPeers>(&*next)) {
        writing_connect_ = environment_.connects.Get(*connect);
        response_ = *writing_connect_;
        return true;
      }
      if (!ToProto(*next, response)) return false;
    }
    response_ = MessageBytes(response);
    return true;
  }

  const ServiceEnvironment environment_;
  StreamAdmission admission_;
  // Until the call is done.
  std::shared_ptr<GroupCall> self_;
  // Of the reads, which come one at a time.
  grpc::ByteBuffer bytes_;
  v1::JoinGroupRequest request_;
  // Set by the first read, constant from then on.
  std::shared_ptr<Job> job_;
  GroupSeat seat_;
  // Of the write under way.
  grpc::ByteBuffer response_;

  Mutex mutex_;
  // It has said what it is, and may be told.
  bool joined_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool joined_told_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Held, so that other members are told by the same bytes.
  std::shared_ptr<const grpc::ByteBuffer> writing_connect_ EVENPACK_GUARDED_BY(mutex_);
  // With what the call ends, once nothing is being written.
  std::optional<absl::Status> ending_ EVENPACK_GUARDED_BY(mutex_);
  bool finished_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartGroupCall(
    const ServiceEnvironment& environment, const grpc::ServerContextBase& context) {
  const auto call = std::make_shared<GroupCall>(environment, context);
  call->Start();
  return call.get();
}

}  // namespace evenpack
