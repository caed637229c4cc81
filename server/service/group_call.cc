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
#include "server/service/job_stream_call.h"
#include "server/service/message_bytes.h"
#include "server/sessions/group_table.h"

namespace evenpack {
namespace {

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

class GroupCall final : public JobStreamCall, public Subscriber {
 public:
  GroupCall(const ServiceEnvironment& environment,
            const grpc::ServerContextBase& context)
      : JobStreamCall(environment, context, kGroupStream, environment.calls.groups) {}

  void Wake() override {
    const auto self = shared_from_this();
    Pump();
  }

 private:
  void ReadDone(bool ok) override {
    if (!ok) {
      // Who says no more has no use for what it would be told.
      return End(joined() ? absl::OkStatus()
                          : InvalidField("message", "none", "open, then state"));
    }
    absl::Status status = ReadMessage(bytes_, request_);
    if (status.ok()) status = job_ == nullptr ? Open() : Tell();
    if (!status.ok()) return End(std::move(status));
    Read();
  }

  // From ReadDone alone, so one at a time.
  absl::Status Open() {
    if (!request_.has_open()) {
      return InvalidField("message", "another message", "open as the first of a call");
    }
    const v1::OpenGroup& open = request_.open();
    absl::StatusOr<std::shared_ptr<Job>> job = FindJob(open.job());
    if (!job.ok()) return job.status();
    seat_ = {open.dp_rank(), open.cp_size(), open.cp_rank(), open.member()};
    absl::Status status = (*job)->CheckSeat(seat_);
    if (status.ok()) status = Hold(**job);
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
                 : groups.Join(seat_, told, SelfAs<GroupCall>());
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

  void LeaveJob() override { job_->groups().Leave(seat_, *this); }
  void Written(bool /*ok*/) override { writing_connect_.reset(); }

  bool TakeNext() override EVENPACK_REQUIRES(mutex_) {
    if (ending_.has_value() || !joined_) return false;
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
        return Fits("JoinGroupResponse");
      }
      if (!ToProto(*next, response)) return false;
    }
    response_ = MessageBytes(response);
    return true;
  }

  // Of the reads, which come one at a time.
  v1::JoinGroupRequest request_;
  // Set with job_.
  GroupSeat seat_;
  // Of the write under way: held, so that other members are told by the same bytes.
  std::shared_ptr<const grpc::ByteBuffer> writing_connect_;

  // It has said what it is, and may be told.
  bool joined_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool joined_told_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

StreamReactor* StartGroupCall(const ServiceEnvironment& environment,
                              const grpc::ServerContextBase& context) {
  const auto call = std::make_shared<GroupCall>(environment, context);
  call->Start();
  return call.get();
}

}  // namespace evenpack
