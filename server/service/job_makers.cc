#include "server/service/job_makers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace evenpack {

bool JobMakers::Begin(const std::string& peer) {
  if (limit_ == 0) return true;
  MutexLock lock(mutex_);
  Peer& maker = peers_[peer];
  if (maker.made.size() + maker.making >= limit_ && !ForgetOne(maker)) return false;
  ++maker.making;
  return true;
}

void JobMakers::End(const std::string& peer, const std::string& job, bool made) {
  if (limit_ == 0) return;
  MutexLock lock(mutex_);
  --peers_[peer].making;
  if (made) {
    // Another's of that name is gone, or this could not have been made.
    Forget(job);
    peers_[peer].made.insert(job);
    makers_[job] = peer;
    if (makers_.size() >= crowded_) ForgetAll();
  }
  DropIfIdle(peer);
}

size_t JobMakers::size() const {
  MutexLock lock(mutex_);
  return makers_.size();
}

bool JobMakers::ForgetOne(Peer& peer) {
  const auto gone = std::find_if_not(peer.made.begin(), peer.made.end(), exists_);
  if (gone == peer.made.end()) return false;
  makers_.erase(*gone);
  peer.made.erase(gone);
  return true;
}

void JobMakers::ForgetAll() {
  for (auto next = makers_.begin(); next != makers_.end();) {
    const std::string& job = (next++)->first;
    if (!exists_(job)) Forget(std::string(job));
  }
  crowded_ = std::max(kFewNames, 2 * makers_.size());
}

void JobMakers::Forget(const std::string& job) {
  const auto known = makers_.find(job);
  if (known == makers_.end()) return;
  const std::string peer = std::move(known->second);
  makers_.erase(known);
  peers_[peer].made.erase(job);
  DropIfIdle(peer);
}

void JobMakers::DropIfIdle(const std::string& peer) {
  const auto known = peers_.find(peer);
  if (known == peers_.end()) return;
  if (known->second.making == 0 && known->second.made.empty()) peers_.erase(known);
}

}  // namespace evenpack
