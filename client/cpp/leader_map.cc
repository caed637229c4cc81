#include "client/cpp/leader_map.h"

#include <algorithm>
#include <utility>

namespace evenpack::client {

LeaderMap::LeaderMap(std::vector<std::string> given) : given_(std::move(given)) {}

std::string LeaderMap::AddressFor(const std::string& job) const {
  MutexLock lock(mutex_);
  const auto leader = leaders_.find(job);
  return leader == leaders_.end() ? given_[current_] : leader->second;
}

void LeaderMap::LedAt(const std::string& job, const std::string& address) {
  MutexLock lock(mutex_);
  Remember(job, address);
}

void LeaderMap::NobodyLeads(const std::string& job, const std::string& address) {
  MutexLock lock(mutex_);
  Remember(job, After(address));
}

void LeaderMap::Lost(const std::string& address) {
  MutexLock lock(mutex_);
  std::erase_if(leaders_, [&](const auto& leader) { return leader.second == address; });
  if (given_[current_] == address) current_ = (current_ + 1) % given_.size();
}

const std::string& LeaderMap::After(const std::string& address) const {
  const auto at = std::ranges::find(given_, address);
  if (at == given_.end()) return given_[current_];
  return at + 1 == given_.end() ? given_.front() : *(at + 1);
}

void LeaderMap::Remember(const std::string& job, const std::string& address) {
  if (job.empty()) return;
  if (leaders_.size() >= kMostJobs && !leaders_.contains(job)) leaders_.clear();
  leaders_[job] = address;
}

}  // namespace evenpack::client
