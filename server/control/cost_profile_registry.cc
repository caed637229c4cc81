#include "server/control/cost_profile_registry.h"

#include "absl/strings/str_cat.h"
#include "server/control/store_failure.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/log.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

absl::Status ProfileNotFound(const std::string& name) {
  return WithDetail(
      absl::NotFoundError(absl::StrCat(
          "profile: '", name, "' is not known; accepted: the name of a cost profile")),
      {kProfileNotFound, {{"profile", name}}});
}

}  // namespace

absl::Status CostProfileRegistry::Recover() {
  while (true) {
    const uint64_t before = changes();
    absl::StatusOr<StoredProfiles> stored = Read();
    if (!stored.ok()) return stored.status();
    MutexLock lock(mutex_);
    // Else what was read may lack what was committed meanwhile.
    if (before != changes_) continue;
    profiles_ = *std::move(stored);
    return absl::OkStatus();
  }
}

uint64_t CostProfileRegistry::changes() const {
  MutexLock lock(mutex_);
  return changes_;
}

absl::StatusOr<StoredProfiles> CostProfileRegistry::Read() {
  absl::StatusOr<StoredProfiles> stored = store_.Profiles();
  if (!stored.ok()) return stored.status();
  for (auto& [name, bytes] : *stored) {
    if (bytes.ok()) continue;
    Log(LogLevel::kError, "cost profile not recovered",
        {{"profile", name}, {"error", std::string(bytes.status().message())}});
    bytes = StoreFailure("the profile was not recovered", bytes.status());
  }
  return stored;
}

void CostProfileRegistry::Put(const std::string& name, std::string bytes,
                              const Done& done) {
  bool full = false;
  {
    MutexLock lock(mutex_);
    full = !profiles_.contains(name) && profiles_.size() + pending_ >= kMaxProfiles;
    if (!full) {
      ++pending_;
      WriteProfile write{name, bytes};
      Enqueue(std::move(write),
              [self = shared_from_this(), name, bytes = std::move(bytes),
               done](const absl::Status& status) {
                self->OnPut(name, bytes, status);
                done(status);
              });
    }
  }
  if (!full) return committer_.Flush();
  done(WithDetail(
      absl::ResourceExhaustedError(absl::StrCat("profiles: there are ", kMaxProfiles,
                                                ", as many as this server holds")),
      {"TOO_MANY_PROFILES", {{"limit", absl::StrCat(kMaxProfiles)}}}));
}

void CostProfileRegistry::OnPut(const std::string& name, const std::string& bytes,
                                const absl::Status& status) {
  MutexLock lock(mutex_);
  --pending_;
  if (!status.ok()) return;
  ++changes_;
  profiles_.insert_or_assign(name, bytes);
}

void CostProfileRegistry::Remove(const std::string& name, const Done& done) {
  bool found = false;
  {
    MutexLock lock(mutex_);
    found = profiles_.contains(name);
    if (found) {
      Enqueue(RemoveProfile{name},
              [self = shared_from_this(), name, done](const absl::Status& status) {
                if (status.ok()) {
                  MutexLock self_lock(self->mutex_);
                  ++self->changes_;
                  self->profiles_.erase(name);
                }
                done(status);
              });
    }
  }
  if (found) return committer_.Flush();
  done(ProfileNotFound(name));
}

void CostProfileRegistry::Enqueue(StoreWrite write, Done done) {
  CommitEntry entry;
  entry.participant = shared_from_this();
  entry.writes.push_back(std::move(write));
  entry.enqueued = clock_.Now();
  entry.done = std::move(done);
  committer_.Enqueue(std::move(entry));
}

absl::StatusOr<std::string> CostProfileRegistry::Find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = profiles_.find(name);
  if (found == profiles_.end()) return ProfileNotFound(name);
  return found->second;
}

CostProfileRegistry::Listed CostProfileRegistry::List(const std::string& after,
                                                      size_t most) const {
  MutexLock lock(mutex_);
  Listed listed;
  for (auto profile = profiles_.upper_bound(after);
       profile != profiles_.end() && listed.size() < most; ++profile) {
    listed.emplace_back(profile->first, profile->second);
  }
  return listed;
}

}  // namespace evenpack
