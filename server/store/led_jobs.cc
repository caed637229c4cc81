#include "server/store/led_jobs.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace evenpack {

const PostgresqlJob* LedJobs::Writable(const std::string& name) const {
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || !found->second.loaded) return nullptr;
  return &found->second;
}

void LedJobs::Replace(PostgresqlJobs found) {
  for (const auto& [name, old] : jobs_) {
    const auto now = found.find(name);
    if (now != found.end() && now->second.id == old.id &&
        now->second.epoch == old.epoch &&
        (!old.loaded || now->second.records >= old.records)) {
      now->second.told = old.told;
      now->second.loaded = old.loaded;
      now->second.unreadable = old.unreadable;
    } else {
      if (old.told) lost_.insert(name);
      asked_.erase(name);
    }
  }
  jobs_ = std::move(found);
}

void LedJobs::Set(const std::string& name, PostgresqlJob job) {
  job.told = true;
  job.loaded = true;
  jobs_[name] = std::move(job);
}

void LedJobs::Remove(const std::string& name) {
  jobs_.erase(name);
  asked_.erase(name);
}

void LedJobs::Settle(const std::string& name, const std::optional<PostgresqlJob>& job) {
  lost_.erase(name);
  if (!job.has_value()) return;
  const auto found = jobs_.find(name);
  if (found != jobs_.end() && found->second.id == job->id &&
      found->second.epoch == job->epoch) {
    found->second.told = true;
    found->second.loaded = true;
  } else {
    lost_.insert(name);
  }
}

bool LedJobs::SetLoaded(const std::string& name, int64_t id, int64_t epoch) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || found->second.id != id || found->second.epoch != epoch) {
    return false;
  }
  found->second.loaded = true;
  return true;
}

void LedJobs::SetUnreadable(const std::string& name) {
  const auto found = jobs_.find(name);
  if (found != jobs_.end()) found->second.unreadable = true;
}

int64_t LedJobs::unreadable() const {
  return std::count_if(jobs_.begin(), jobs_.end(),
                       [](const auto& job) { return job.second.unreadable; });
}

LeadNews LedJobs::TakeNews() {
  LeadNews news;
  news.lost.assign(lost_.begin(), lost_.end());
  lost_.clear();
  for (auto& [name, job] : jobs_) {
    if (!job.told) news.taken.push_back(name);
    job.told = true;
  }
  return news;
}

void LedJobs::Ask(int64_t give, LeadNews& news) {
  if (give <= 0) asked_.clear();
  const size_t most =
      std::min(static_cast<size_t>(std::max<int64_t>(give, 0)), kMostAsked);
  if (asked_.size() >= most) return;
  std::vector<std::tuple<bool, int64_t, std::string>> jobs;
  for (const auto& [name, job] : jobs_) {
    if (!asked_.contains(name)) jobs.emplace_back(job.unreadable, job.id, name);
  }
  const size_t count = std::min(most - asked_.size(), jobs.size());
  const auto end = jobs.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(jobs.begin(), end, jobs.end(), std::greater<>());
  for (auto job = jobs.begin(); job != end; ++job) {
    const std::string& name = std::get<std::string>(*job);
    asked_.insert(name);
    news.to_give.push_back(name);
  }
}

}  // namespace evenpack
