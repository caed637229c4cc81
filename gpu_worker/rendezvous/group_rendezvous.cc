#include "gpu_worker/rendezvous/group_rendezvous.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/log.h"

namespace evenpack::worker {
namespace {

absl::Status Left() { return absl::CancelledError("the group was left"); }

// Whatever it throws is as if a peer had not come.
absl::StatusOr<std::unique_ptr<Communicator>> Connected(
    Endpoint& endpoint, const std::vector<std::string>& addresses) {
  try {
    return endpoint.Connect(addresses);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("connecting failed: ", error.what()));
  }
}

}  // namespace

using client::GroupNews;

GroupRendezvous::GroupRendezvous(std::unique_ptr<client::GroupMember> member,
                                 OpenEndpoint open, std::chrono::nanoseconds patience,
                                 std::chrono::nanoseconds farewell)
    : open_(std::move(open)),
      patience_(patience),
      farewell_(farewell),
      member_(std::move(member)),
      thread_([this] { Run(); }) {}

GroupRendezvous::~GroupRendezvous() {
  Cancel();
  EndConnecting();
  thread_.join();
  StopConnecting();
}

void GroupRendezvous::EndConnecting() {
  const auto end = std::chrono::steady_clock::now() + farewell_;
  MutexLock lock(mutex_);
  while (connecting_ != nullptr) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return CancelConnecting();
    changed_.WaitFor(mutex_, left);
  }
}

void GroupRendezvous::CancelConnecting() {
  if (connecting_ == nullptr || connecting_is_cancelled_) return;
  connecting_is_cancelled_ = true;
  changed_.SignalAll();
  connecting_->Cancel();
}

void GroupRendezvous::StopConnecting() {
  {
    MutexLock lock(mutex_);
    CancelConnecting();
  }
  if (connecting_thread_.joinable()) connecting_thread_.join();
}

void GroupRendezvous::Cancel() {
  {
    MutexLock lock(mutex_);
    cancelled_ = true;
  }
  SetFinal(Left(), End::kAsItStands);
  member_->Cancel();
}

absl::Status GroupRendezvous::CheckNotCancelled() const {
  MutexLock lock(mutex_);
  return cancelled_ ? Left() : absl::OkStatus();
}

void GroupRendezvous::SetIdle(bool idle) {
  MutexLock lock(mutex_);
  idle_ = idle;
}

void GroupRendezvous::SetFinal(const absl::Status& status, End end) {
  // Goes under no lock, since it may wait for peers.
  std::shared_ptr<Communicator> left;
  MutexLock lock(mutex_);
  if (!final_.has_value()) final_ = status;
  if (communicator_ != nullptr) {
    const absl::Status reason =
        absl::AbortedError(absl::StrCat("a rank has left: ", final_->message()));
    if (end == End::kAsItStands && idle_) {
      communicator_->Leave(reason);
    } else {
      communicator_->Abort(reason);
    }
  }
  left = std::move(communicator_);
  stands_ = false;
  changed_.SignalAll();
}

void GroupRendezvous::Run() {
  {
    MutexLock lock(mutex_);
    ReportLost(absl::OkStatus());
  }
  for (;;) {
    const absl::StatusOr<GroupNews> news = member_->Next();
    if (!news.ok()) return SetFinal(news.status(), End::kAbort);
    if (!Carry(*news)) return;
  }
}

bool GroupRendezvous::Carry(const GroupNews& news) {
  if (news.kind == GroupNews::Kind::kConnect) {
    BeginToConnect(news);
  } else if (news.kind == GroupNews::Kind::kGiveUp) {
    if (news.epoch >= standing().epoch) StopConnecting();
    MutexLock lock(mutex_);
    GiveUp(news.epoch);
  } else {
    MutexLock lock(mutex_);
    if (news.epoch == epoch_ && communicator_ != nullptr) {
      stands_ = true;
      connect_failure_ = absl::OkStatus();
      pause_ = {};
      changed_.SignalAll();
    }
  }
  MutexLock lock(mutex_);
  return !final_.has_value();
}

void GroupRendezvous::GiveUp(uint64_t epoch) {
  if (epoch < epoch_) return;
  // It has said so, and peers may be connecting to the endpoint that was told of.
  if (endpoint_ != nullptr && epoch == epoch_) return;
  epoch_ = epoch;
  // They may also in an epoch that ended before this rank began with it.
  passed_over_ = std::move(endpoint_);
  ReportLost(absl::AbortedError(absl::StrCat("epoch ", epoch,
                                             " of the group has ended: a rank was "
                                             "restarted or lost its connections")));
}

void GroupRendezvous::BeginToConnect(const GroupNews& news) {
  StopConnecting();
  std::shared_ptr<Endpoint> endpoint;
  // All have asked for this epoch, so nobody connects in one before it.
  std::unique_ptr<Endpoint> passed_over;
  {
    MutexLock lock(mutex_);
    if (final_.has_value()) return;
    epoch_ = news.epoch;
    passed_over = std::move(passed_over_);
    if (endpoint_ == nullptr) {
      return ReportLost(absl::InternalError("told to connect without having asked"));
    }
    endpoint = std::move(endpoint_);
    connecting_ = endpoint;
    connecting_is_cancelled_ = false;
  }
  try {
    connecting_thread_ = std::thread([this, endpoint, addresses = news.addresses] {
      TakeConnected(*endpoint, Connected(*endpoint, addresses));
    });
  } catch (const std::exception& error) {
    TakeConnected(*endpoint,
                  absl::ResourceExhaustedError(absl::StrCat(
                      "the system refused a thread to connect in: ", error.what())));
  }
}

void GroupRendezvous::TakeConnected(
    const Endpoint& endpoint,
    absl::StatusOr<std::unique_ptr<Communicator>> communicator) {
  MutexLock lock(mutex_);
  const bool failed = !communicator.ok() && !absl::IsCancelled(communicator.status());
  if (failed) {
    NoteFailure(communicator.status());
    AwaitNextTry();
  }
  connecting_ = nullptr;
  changed_.SignalAll();
  if (final_.has_value()) return;
  if (!communicator.ok()) return ReportLost(communicator.status());
  communicator_ = *std::move(communicator);
  member_->Report({endpoint.address(), epoch_, true});
}

void GroupRendezvous::NoteFailure(const absl::Status& why) {
  if (connect_failure_.ok()) {
    Log(LogLevel::kWarning, "the group can't be connected",
        {{"epoch", absl::StrCat(epoch_)}, {"why", why.ToString()}});
  }
  connect_failure_ = why;
}

void GroupRendezvous::AwaitNextTry() {
  const auto end = std::chrono::steady_clock::now() + pause_;
  while (!final_.has_value() && !connecting_is_cancelled_) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) break;
    changed_.WaitFor(mutex_, left);
  }
  pause_ = std::clamp(2 * pause_, kShortestPause, kLongestPause);
}

void GroupRendezvous::ReportLost(const absl::Status& why) {
  if (final_.has_value()) return;
  if (communicator_ != nullptr) communicator_->Abort(why);
  communicator_ = nullptr;
  if (stands_) ++losses_;
  stands_ = false;
  idle_ = false;
  absl::StatusOr<std::unique_ptr<Endpoint>> endpoint = open_();
  if (!endpoint.ok()) {
    final_ = endpoint.status();
    changed_.SignalAll();
    return;
  }
  endpoint_ = *std::move(endpoint);
  member_->Report({endpoint_->address(), epoch_, false});
}

absl::StatusOr<GroupEpoch> GroupRendezvous::Await(
    uint64_t after, std::optional<std::chrono::nanoseconds> patience) {
  const std::chrono::nanoseconds most = patience.value_or(patience_);
  const auto end = std::chrono::steady_clock::now() + most;
  MutexLock lock(mutex_);
  while (!final_.has_value() && (!stands_ || epoch_ <= after)) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the ranks of the group were not all connected within ",
          ShortestText(std::chrono::duration<double>(most).count()),
          " s; the last epoch was ", epoch_,
          connect_failure_.ok() ? ""
                                : "; this rank could not connect to its peers, last: ",
          connect_failure_.message()));
    }
    changed_.WaitFor(mutex_, left);
  }
  if (final_.has_value()) return *final_;
  return GroupEpoch{epoch_, communicator_};
}

void GroupRendezvous::Lose(uint64_t epoch, const absl::Status& why) {
  MutexLock lock(mutex_);
  if (epoch == epoch_ && communicator_ != nullptr) ReportLost(why);
}

GroupStanding GroupRendezvous::standing() const {
  MutexLock lock(mutex_);
  return {epoch_, stands_, losses_};
}

}  // namespace evenpack::worker
