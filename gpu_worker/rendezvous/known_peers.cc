#include "gpu_worker/rendezvous/known_peers.h"

#include <utility>

namespace evenpack::worker {

using client::GroupNews;

absl::StatusOr<GroupNews> KnownPeers::Next() {
  MutexLock lock(mutex_);
  while (!state_.has_value() && !cancelled_) changed_.Wait(mutex_);
  if (cancelled_) return absl::CancelledError("the membership was cancelled");
  const client::MemberState state = *std::move(state_);
  state_.reset();
  GroupNews news;
  news.epoch = 1;
  if (!told_) {
    told_ = true;
    news.kind = GroupNews::Kind::kConnect;
    news.addresses = addresses_;
    return news;
  }
  if (!state.connected) {
    return absl::FailedPreconditionError(
        "the group has lost its connections, and no server through which its ranks "
        "would find each other again: begin anew with all of them");
  }
  news.kind = GroupNews::Kind::kStands;
  return news;
}

void KnownPeers::Report(const client::MemberState& state) {
  MutexLock lock(mutex_);
  state_ = state;
  changed_.SignalAll();
}

void KnownPeers::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  changed_.SignalAll();
}

}  // namespace evenpack::worker
