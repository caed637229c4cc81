#include "client/cpp/group_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/call_progress.h"
#include "client/cpp/retry.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

GroupNews NewsOf(const v1::JoinGroupResponse& response) {
  GroupNews news;
  if (response.has_connect()) {
    news.kind = GroupNews::Kind::kConnect;
    news.epoch = response.connect().epoch();
    news.addresses = {response.connect().addresses().begin(),
                      response.connect().addresses().end()};
  } else if (response.has_stands()) {
    news.kind = GroupNews::Kind::kStands;
    news.epoch = response.stands().epoch();
  } else {
    news.kind = GroupNews::Kind::kGiveUp;
    news.epoch = response.give_up().epoch();
  }
  return news;
}

}  // namespace

GroupSession::GroupSession(std::shared_ptr<Stub> stub, ClientOptions client_options,
                           GroupOptions options)
    : stub_(std::move(stub)),
      client_options_(std::move(client_options)),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

GroupSession::~GroupSession() { Cancel(); }

void GroupSession::Cancel() {
  SetFinal(absl::CancelledError("the membership was cancelled"));
  thread_.request_stop();
}

void GroupSession::SetFinal(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (!final_.has_value()) final_ = status;
  changed_.SignalAll();
}

void GroupSession::Run(const std::stop_token& stop) {
  Backoff backoff(client_options_.backoff, *client_options_.clock,
                  client_options_.random,
                  {absl::StrCat("the group of DP rank ", options_.dp_rank, " of job '",
                                options_.job, "'"),
                   client_options_.on_retry});
  // A call without a state would take the seat from one that has it, and tell nothing.
  while (AwaitReport()) {
    const absl::Status status = OneCall(backoff, stop);
    if (!GoesOn(status, backoff, stop)) return;
  }
}

bool GroupSession::AwaitReport() {
  MutexLock lock(mutex_);
  while (!final_.has_value() && !mailbox_.state().has_value()) changed_.Wait(mutex_);
  return !final_.has_value();
}

absl::Status GroupSession::OneCall(Backoff& backoff, const std::stop_token& stop) {
  const std::shared_ptr<GroupStream> stream = stub_->JoinGroup(stop);
  v1::JoinGroupRequest request;
  v1::OpenGroup& open = *request.mutable_open();
  open.set_job(options_.job);
  open.set_dp_rank(options_.dp_rank);
  open.set_cp_size(options_.cp_size);
  open.set_cp_rank(options_.cp_rank);
  open.set_member(options_.member);
  stream->Write(request);
  {
    MutexLock lock(mutex_);
    Tell(*stream);
    stream_ = stream;
  }
  CallProgress progress(backoff, *client_options_.clock,
                        client_options_.backoff.maximum);
  v1::JoinGroupResponse response;
  while (stream->Read(response)) {
    progress.Answered();
    if (response.has_joined()) continue;
    progress.GotOn();
    Deliver(response);
  }
  progress.Ended();
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    mailbox_.Drop();
    changed_.SignalAll();
  }
  return stream->Finish();
}

void GroupSession::Deliver(const v1::JoinGroupResponse& response) {
  MutexLock lock(mutex_);
  mailbox_.Deliver(NewsOf(response));
  changed_.SignalAll();
}

bool GroupSession::GoesOn(const absl::Status& status, Backoff& backoff,
                          const std::stop_token& stop) {
  if (!IsLostCall(status)) {
    SetFinal(status);
    return false;
  }
  {
    MutexLock lock(mutex_);
    if (final_.has_value()) return false;
    const std::optional<MemberState>& state = mailbox_.state();
    if (state.has_value() && state->connected) backoff.RestartTotal();
  }
  if (WaitToRetry(status, backoff, *client_options_.sleeper, stop)) return true;
  SetFinal(GaveUp(status, backoff));
  return false;
}

void GroupSession::Tell(GroupStream& stream) const {
  const std::optional<MemberState>& told = mailbox_.state();
  if (!told.has_value()) return;
  v1::JoinGroupRequest request;
  v1::MemberState& state = *request.mutable_state();
  state.set_address(told->address);
  state.set_epoch(told->epoch);
  state.set_connected(told->connected);
  stream.Write(request);
}

absl::StatusOr<GroupNews> GroupSession::Next() {
  MutexLock lock(mutex_);
  std::optional<GroupNews> news = mailbox_.Take();
  while (!news.has_value() && !final_.has_value()) {
    changed_.Wait(mutex_);
    news = mailbox_.Take();
  }
  if (final_.has_value()) return *final_;
  return *std::move(news);
}

void GroupSession::Report(const MemberState& state) {
  MutexLock lock(mutex_);
  mailbox_.Report(state);
  if (stream_ != nullptr) Tell(*stream_);
  changed_.SignalAll();
}

}  // namespace evenpack::client
