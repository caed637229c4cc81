#include "server/store/memory_store.h"

#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/store/write_check.h"

namespace evenpack {
namespace {

using JobMap = std::map<std::string, StoredJob>;

void Write(const AppendRecord& write, JobMap& jobs) {
  jobs[write.job].records.push_back(write.bytes);
}

void Write(const WriteSnapshot& write, JobMap& jobs) {
  StoredJob& job = jobs[write.job];
  job.snapshot = write.bytes;
  job.snapshot_records = write.records;
  job.records.clear();
}

void Write(const RemoveJob& write, JobMap& jobs) { jobs.erase(write.job); }

}  // namespace

absl::Status MemoryStore::Commit(std::span<const StoreWrite> writes) {
  MutexLock lock(mutex_);
  // The lock is held while the functions below run, which the compiler can't see.
  JobMap* const jobs = &jobs_;
  absl::Status status =
      CheckWrites(writes, [jobs](const std::string& name) -> std::optional<uint64_t> {
        const auto found = jobs->find(name);
        if (found == jobs->end()) return std::nullopt;
        return found->second.snapshot_records + found->second.records.size();
      });
  if (!status.ok()) return status;
  for (const StoreWrite& write : writes) {
    std::visit([jobs](const auto& held) { Write(held, *jobs); }, write);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MemoryStore::Jobs() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_) names.push_back(name);
  return names;
}

absl::StatusOr<StoredJob> MemoryStore::Load(const std::string& job) {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
  }
  return found->second;
}

}  // namespace evenpack
