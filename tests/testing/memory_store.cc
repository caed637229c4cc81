#include "tests/testing/memory_store.h"

#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/store/write_check.h"

namespace evenpack::testing {

void MemoryStore::Write(const AppendRecord& write, Content& content) {
  content.jobs[write.job].job.records.push_back(write.bytes);
}

void MemoryStore::Write(const WriteSnapshot& write, Content& content) {
  StoredJob& job = content.jobs[write.job].job;
  job.snapshot = write.bytes;
  job.snapshot_records = write.records;
  job.records.clear();
}

void MemoryStore::Write(const RemoveJob& write, Content& content) {
  content.jobs.erase(write.job);
}

void MemoryStore::Write(const PutTokens& write, Content& content) {
  content.jobs[write.job].tokens.insert_or_assign({write.stream, write.first_sequence},
                                                  write.bytes);
}

void MemoryStore::Write(const DropTokens& write, Content& content) {
  auto& tokens = content.jobs[write.job].tokens;
  tokens.erase(tokens.lower_bound({write.stream, 0}),
               tokens.lower_bound({write.stream, write.below}));
}

void MemoryStore::Write(const WriteProfile& write, Content& content) {
  content.profiles.insert_or_assign(write.profile, write.bytes);
}

void MemoryStore::Write(const RemoveProfile& write, Content& content) {
  content.profiles.erase(write.profile);
}

absl::Status MemoryStore::Commit(std::span<const StoreWrite> writes) {
  MutexLock lock(mutex_);
  // The lock is held while the functions below run, which the compiler can't see.
  Content* const content = &content_;
  absl::Status status = CheckWrites(
      writes, [content](const std::string& name) -> std::optional<uint64_t> {
        const auto found = content->jobs.find(name);
        if (found == content->jobs.end()) return std::nullopt;
        const StoredJob& job = found->second.job;
        return job.snapshot_records + job.records.size();
      });
  if (!status.ok()) return status;
  for (const StoreWrite& write : writes) {
    std::visit([content](const auto& held) { Write(held, *content); }, write);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MemoryStore::Jobs() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  names.reserve(content_.jobs.size());
  for (const auto& [name, held] : content_.jobs) names.push_back(name);
  return names;
}

absl::StatusOr<StoredJob> MemoryStore::Load(const std::string& job) {
  MutexLock lock(mutex_);
  const auto found = content_.jobs.find(job);
  if (found == content_.jobs.end()) {
    return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
  }
  StoredJob stored = found->second.job;
  for (const auto& [place, bytes] : found->second.tokens) {
    stored.tokens.push_back({place.first, place.second, bytes});
  }
  return stored;
}

absl::StatusOr<StoredProfiles> MemoryStore::Profiles() {
  MutexLock lock(mutex_);
  return content_.profiles;
}

}  // namespace evenpack::testing
