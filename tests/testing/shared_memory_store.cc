#include "tests/testing/shared_memory_store.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace evenpack::testing {
namespace {

// Of the job that it is of; empty: of a profile.
std::string JobOf(const StoreWrite& write) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (requires { held.job; }) {
          return held.job;
        } else {
          return "";
        }
      },
      write);
}

bool Makes(const StoreWrite& write) {
  const auto* record = std::get_if<AppendRecord>(&write);
  return record != nullptr && record->number == 0;
}

}  // namespace

void SharedMemory::Move(const std::string& job, SharedMemoryStore* to) {
  LeadListener* loser = nullptr;
  LeadListener* taker = nullptr;
  {
    MutexLock lock(mutex_);
    SharedMemoryStore* const from = std::exchange(leaders_.at(job), to);
    loser = ListenerOf(from);
    taker = ListenerOf(to);
  }
  if (loser != nullptr) loser->OnLost(job);
  if (taker != nullptr) taker->OnTaken(job);
}

void SharedMemory::Take(const std::string& job, SharedMemoryStore* to) {
  LeadListener* taker = nullptr;
  {
    MutexLock lock(mutex_);
    leaders_.at(job) = to;
    taker = ListenerOf(to);
  }
  if (taker != nullptr) taker->OnTaken(job);
}

void SharedMemory::TellLost(const std::string& job, SharedMemoryStore& loser) {
  LeadListener* listener = nullptr;
  {
    MutexLock lock(mutex_);
    listener = ListenerOf(&loser);
  }
  if (listener != nullptr) listener->OnLost(job);
}

SharedMemoryStore* SharedMemory::LeaderOf(const std::string& job) const {
  MutexLock lock(mutex_);
  return leaders_.at(job);
}

void SharedMemory::AskToGive(const std::string& job) {
  LeadListener* leader = nullptr;
  {
    MutexLock lock(mutex_);
    leader = ListenerOf(leaders_.at(job));
  }
  leader->OnAskedToGive(job);
}

void SharedMemory::TellProfilesChanged(const SharedMemoryStore& writer) {
  std::vector<LeadListener*> others;
  {
    MutexLock lock(mutex_);
    for (const Server& server : servers_) {
      if (server.store != &writer) others.push_back(server.listener);
    }
  }
  for (LeadListener* other : others) other->OnProfilesChanged();
}

void SharedMemory::HoldReads() {
  MutexLock lock(mutex_);
  held_ = true;
}

void SharedMemory::ReleaseReads(bool fail) {
  MutexLock lock(mutex_);
  held_ = false;
  failing_ = fail;
  changed_.SignalAll();
}

void SharedMemory::WaitUntilReading() {
  MutexLock lock(mutex_);
  while (reading_ == 0) changed_.Wait(mutex_);
}

int SharedMemory::locations() const {
  MutexLock lock(mutex_);
  return locations_;
}

absl::Status SharedMemory::CheckRead() {
  ++reading_;
  changed_.SignalAll();
  while (held_) changed_.Wait(mutex_);
  --reading_;
  return failing_ ? absl::UnavailableError("store: the database can't be reached")
                  : absl::OkStatus();
}

LeadListener* SharedMemory::ListenerOf(const SharedMemoryStore* server) {
  for (const Server& each : servers_) {
    if (each.store == server) return each.listener;
  }
  return nullptr;
}

JobPlace SharedMemory::PlaceOf(const std::string& job,
                               const SharedMemoryStore& asked_by) {
  JobPlace place;
  place.job = job;
  for (const Server& each : servers_) {
    if (each.store == leaders_.at(job)) place.address = each.address;
  }
  place.here = leaders_.at(job) == &asked_by;
  return place;
}

size_t SharedMemory::JobsOf(const SharedMemoryStore* server) {
  size_t jobs = 0;
  for (const auto& [job, leader] : leaders_) jobs += leader == server ? 1 : 0;
  return jobs;
}

void SharedMemoryStore::StepDown() {
  MutexLock lock(memory_.mutex_);
  std::erase_if(memory_.servers_,
                [this](const auto& each) { return each.store == this; });
  for (auto& [job, leader] : memory_.leaders_) {
    if (leader == this) leader = nullptr;
  }
  // Whoever hands a job over may be telling this one's listener, which is about to go.
  while (memory_.telling_ > 0) memory_.changed_.Wait(memory_.mutex_);
}

absl::Status SharedMemoryStore::CheckFence(std::span<const StoreWrite> writes) {
  for (const StoreWrite& write : writes) {
    const auto lease = memory_.leaders_.find(JobOf(write));
    if (lease == memory_.leaders_.end()) continue;
    if (Makes(write)) return absl::AlreadyExistsError("job: it is there");
    if (lease->second != this) return absl::AbortedError("store: another server leads");
  }
  return absl::OkStatus();
}

absl::Status SharedMemoryStore::Commit(std::span<const StoreWrite> writes) {
  MutexLock lock(memory_.mutex_);
  absl::Status status = CheckFence(writes);
  if (status.ok()) status = memory_.content_.Commit(writes);
  if (!status.ok()) return status;
  for (const StoreWrite& write : writes) {
    if (Makes(write)) memory_.leaders_[JobOf(write)] = this;
    if (std::holds_alternative<RemoveJob>(write)) memory_.leaders_.erase(JobOf(write));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SharedMemoryStore::Jobs() {
  MutexLock lock(memory_.mutex_);
  std::vector<std::string> names;
  for (const auto& [job, leader] : memory_.leaders_) {
    if (leader == this) names.push_back(job);
  }
  return names;
}

absl::StatusOr<StoredJob> SharedMemoryStore::Load(const std::string& job) {
  MutexLock lock(memory_.mutex_);
  const auto lease = memory_.leaders_.find(job);
  if (lease != memory_.leaders_.end() && lease->second != this) {
    return absl::AbortedError("store: another server leads");
  }
  return memory_.content_.Load(job);
}

absl::StatusOr<StoredProfiles> SharedMemoryStore::Profiles() {
  MutexLock lock(memory_.mutex_);
  if (absl::Status status = memory_.CheckRead(); !status.ok()) return status;
  return memory_.content_.Profiles();
}

absl::Status SharedMemoryStore::Join(const std::string& address,
                                     LeadListener& listener) {
  std::vector<std::string> taken;
  {
    MutexLock lock(memory_.mutex_);
    memory_.servers_.push_back({this, address, &listener, true});
    for (auto& [job, leader] : memory_.leaders_) {
      if (leader != nullptr) continue;
      leader = this;
      taken.push_back(job);
    }
  }
  for (const std::string& job : taken) listener.OnTaken(job);
  return absl::OkStatus();
}

absl::Status SharedMemoryStore::Leave() {
  MutexLock lock(memory_.mutex_);
  for (auto& each : memory_.servers_) {
    if (each.store == this) each.takes = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SharedMemoryStore::HandOver(const std::string& job) {
  LeadListener* taker = nullptr;
  std::string address;
  {
    MutexLock lock(memory_.mutex_);
    SharedMemoryStore* to = nullptr;
    for (const auto& each : memory_.servers_) {
      if (each.store == this || !each.takes) continue;
      if (to != nullptr && memory_.JobsOf(each.store) >= memory_.JobsOf(to)) continue;
      to = each.store;
      address = each.address;
      taker = each.listener;
    }
    const auto lease = memory_.leaders_.find(job);
    if (to == nullptr || lease == memory_.leaders_.end() || lease->second != this) {
      return absl::FailedPreconditionError("store: the job can't be handed over");
    }
    lease->second = to;
    ++memory_.telling_;
  }
  taker->OnTaken(job);
  MutexLock lock(memory_.mutex_);
  --memory_.telling_;
  memory_.changed_.SignalAll();
  return address;
}

void SharedMemoryStore::CannotRead(const std::string& job) {
  MutexLock lock(memory_.mutex_);
  unreadable_.push_back(job);
}

void SharedMemoryStore::SetCutOff(bool cut_off) {
  cut_off_ = cut_off;
  if (!cut_off) return;
  LeadListener* listener = nullptr;
  {
    MutexLock lock(memory_.mutex_);
    listener = memory_.ListenerOf(this);
  }
  listener->OnCutOff();
}

std::vector<std::string> SharedMemoryStore::unreadable() const {
  MutexLock lock(memory_.mutex_);
  return unreadable_;
}

absl::StatusOr<JobPlace> SharedMemoryStore::Locate(const std::string& job) {
  MutexLock lock(memory_.mutex_);
  ++memory_.locations_;
  if (absl::Status status = memory_.CheckRead(); !status.ok()) return status;
  if (!memory_.leaders_.contains(job)) return absl::NotFoundError("job: there is none");
  return memory_.PlaceOf(job, *this);
}

absl::StatusOr<std::vector<JobPlace>> SharedMemoryStore::Places(
    const std::string& after, size_t most) {
  MutexLock lock(memory_.mutex_);
  if (absl::Status status = memory_.CheckRead(); !status.ok()) return status;
  std::vector<JobPlace> places;
  for (auto lease = memory_.leaders_.upper_bound(after);
       lease != memory_.leaders_.end() && places.size() < most; ++lease) {
    places.push_back(memory_.PlaceOf(lease->first, *this));
  }
  return places;
}

}  // namespace evenpack::testing
