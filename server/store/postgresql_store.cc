#include "server/store/postgresql_store.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/runtime/clock.h"
#include "server/runtime/log.h"
#include "server/store/postgresql_load.h"
#include "server/store/postgresql_schema.h"
#include "server/store/write_check.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;

// Without a sign of the database; above the time that it may take for a statement.
constexpr milliseconds kPatience{8000};
// Between renewals: a third of what a lease lasts (postgresql_lead.cc).
constexpr milliseconds kRenewal{1000};
// Between looks of one that waits to lead.
constexpr milliseconds kLook{250};
// Between attempts to connect: doubled from the first to the last.
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLastRetry{900};
// How long a commit whose answer was lost waits for the database.
constexpr milliseconds kResolution{20'000};
// Measuring is not worth it for less.
constexpr uint64_t kBytesBetweenMeasures = 1 << 20;

// One that no other process has or has had.
std::string NewServerName() {
  std::random_device random;
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(static_cast<const char*>(host), "/", getpid(), "/",
                      absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

absl::Status AnotherLeads() {
  return absl::AbortedError("store: another server leads");
}

absl::Status NotConnected() {
  return absl::UnavailableError("store: the database can't be reached");
}

milliseconds NextRetry(milliseconds last) {
  return last >= kRenewal ? kFirstRetry : std::min(2 * last, kLastRetry);
}

uint64_t BytesWritten(std::span<const StoreWrite> writes) {
  uint64_t bytes = 0;
  for (const StoreWrite& write : writes) {
    std::visit(
        [&bytes](const auto& held) {
          if constexpr (requires { held.bytes; }) bytes += held.bytes.size();
        },
        write);
  }
  return bytes;
}

}  // namespace

PostgresqlStore::PostgresqlStore(std::string target)
    : target_(std::move(target)), lead_(NewServerName()) {}

PostgresqlStore::~PostgresqlStore() { StepDown(); }

absl::StatusOr<std::unique_ptr<PostgresqlStore>> PostgresqlStore::Open(
    const std::string& target) {
  std::unique_ptr<PostgresqlStore> store(new PostgresqlStore(target));
  MutexLock lock(store->mutex_);
  absl::Status status = store->Connect();
  if (!status.ok()) return status;
  return store;
}

absl::Status PostgresqlStore::Connect() {
  connection_.reset();
  absl::StatusOr<PostgresqlConnection> connection =
      PostgresqlConnection::Open(target_, kPatience);
  if (!connection.ok()) return connection.status();
  absl::Status status = PreparePostgresql(*connection);
  if (!status.ok()) return status;
  if (leads_) {
    const absl::StatusOr<bool> joined = lead_.Rejoin(*connection);
    if (!joined.ok()) return joined.status();
    if (!*joined) lost_ = AnotherLeads();
  }
  connection_ = *std::move(connection);
  if (!leads_) return absl::OkStatus();
  if (!lost_.ok()) return lost_;
  status = FindJobs();
  if (!status.ok()) {
    connection_.reset();
    return status;
  }
  down_ = false;
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Lead(const LeadTerms& terms) {
  bool waits = false;
  while (true) {
    const absl::StatusOr<bool> leads = TryLead();
    if (leads.ok() && *leads) break;
    if (!leads.ok() && !absl::IsUnavailable(leads.status())) return leads.status();
    if (!waits) {
      Log(LogLevel::kInfo, "waiting to lead",
          {{"because", leads.ok() ? "another server leads"
                                  : std::string(leads.status().message())}});
    }
    waits = true;
    if (!terms.pause(kLook)) return absl::CancelledError("store: not led");
  }
  keeper_ = std::thread([this, terms] { Keep(terms); });
  return absl::OkStatus();
}

absl::StatusOr<bool> PostgresqlStore::TryLead() {
  MutexLock lock(mutex_);
  if (!connection_.has_value()) {
    if (absl::Status status = Connect(); !status.ok()) return status;
  }
  const absl::StatusOr<bool> taken = lead_.TryTake(*connection_);
  if (!taken.ok()) return Failed(taken.status());
  if (!*taken) return false;
  absl::Status status = FindJobs();
  if (status.ok()) status = Measure();
  if (!status.ok()) return Failed(std::move(status));
  leads_ = true;
  down_ = false;
  return true;
}

void PostgresqlStore::StepDown() {
  {
    MutexLock lock(mutex_);
    released_ = true;
    down_ = true;
  }
  changed_.SignalAll();
  if (keeper_.joinable()) keeper_.join();
  MutexLock lock(mutex_);
  if (connection_.has_value() && !connection_->broken() && lost_.ok()) {
    lead_.Release(*connection_).IgnoreError();
  }
  leads_ = false;
  connection_.reset();
}

void PostgresqlStore::Keep(const LeadTerms& terms) {
  milliseconds pause = kRenewal;
  while (true) {
    MutexLock lock(mutex_);
    if (!released_ && lost_.ok()) changed_.WaitFor(mutex_, pause);
    if (released_) return;
    if (lost_.ok()) {
      const bool was_down = down_;
      const absl::Status status = KeepOnce();
      pause = status.ok() ? kRenewal : NextRetry(pause);
      if (status.ok() && was_down) Log(LogLevel::kInfo, "database reached again");
    }
    if (lost_.ok()) continue;
    Log(LogLevel::kError, "lead lost", {{"because", std::string(lost_.message())}});
    break;
  }
  if (terms.lost != nullptr) terms.lost();
}

absl::Status PostgresqlStore::KeepOnce() {
  if (!connection_.has_value() || down_) return Connect();
  absl::Status status = lead_.Renew(*connection_);
  return status.ok() ? status : Failed(std::move(status));
}

absl::Status PostgresqlStore::CheckLead() const {
  if (!lost_.ok()) return lost_;
  if (!leads_ || down_ || !connection_.has_value()) return NotConnected();
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Failed(absl::Status status) {
  if (absl::IsAborted(status)) {
    lost_ = status;
    down_ = true;
    changed_.SignalAll();
  } else if (connection_.has_value() && connection_->broken()) {
    Log(LogLevel::kWarning, "database lost",
        {{"error", std::string(status.message())}});
    connection_.reset();
    down_ = true;
    changed_.SignalAll();
  }
  return status;
}

absl::Status PostgresqlStore::FindJobs() {
  absl::StatusOr<PostgresqlJobs> jobs = LoadJobs(*connection_);
  if (!jobs.ok()) return jobs.status();
  jobs_ = *std::move(jobs);
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Measure() {
  const absl::StatusOr<PostgresqlRows> size = connection_->Ask(
      "SELECT sum(pg_total_relation_size(each))::bigint FROM unnest(ARRAY["
      "'evenpack_jobs', 'evenpack_snapshots', 'evenpack_records', "
      "'evenpack_profiles', 'evenpack_tokens']::regclass[]) AS each");
  if (!size.ok()) return size.status();
  size_ = static_cast<uint64_t>(size->Integer(0, 0));
  unmeasured_bytes_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> PostgresqlStore::NewIds(size_t count) {
  std::vector<int64_t> ids;
  if (count == 0) return ids;
  const absl::StatusOr<PostgresqlRows> rows = connection_->Ask(
      "SELECT nextval('evenpack_job_ids') FROM generate_series(1, $1::bigint)",
      PostgresqlValues().Add(static_cast<int64_t>(count)));
  if (!rows.ok()) return rows.status();
  for (int row = 0; row < rows->size(); ++row) ids.push_back(rows->Integer(row, 0));
  // Taken from the back.
  std::reverse(ids.begin(), ids.end());
  return ids;
}

absl::Status PostgresqlStore::Commit(std::span<const StoreWrite> writes) {
  if (writes.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  absl::Status status = CheckLead();
  if (!status.ok()) return status;
  // The lock is held while the function below runs, which the compiler can't see.
  const PostgresqlJobs* const jobs = &jobs_;
  status =
      CheckWrites(writes, [jobs](const std::string& name) -> std::optional<uint64_t> {
        const auto found = jobs->find(name);
        if (found == jobs->end()) return std::nullopt;
        return found->second.records;
      });
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<int64_t>> ids =
      NewIds(PostgresqlTransaction::JobsMade(writes));
  if (!ids.ok()) return Failed(ids.status());
  PostgresqlTransaction transaction(jobs_, *std::move(ids));
  status = transaction.Add(writes);
  if (!status.ok()) return status;
  const int64_t number = transaction.Queue(lead_, *connection_);
  status = connection_->Exchange().status();
  if (!status.ok() && connection_->broken()) {
    const absl::StatusOr<bool> stands = Resolve(number, status);
    if (!stands.ok()) return stands.status();
    // The jobs were read anew with the connection.
    return *stands ? absl::OkStatus() : status;
  }
  if (!status.ok()) {
    connection_->Run("ROLLBACK").IgnoreError();
    return Failed(std::move(status));
  }
  transaction.Apply(lead_, jobs_);
  unmeasured_bytes_ += BytesWritten(writes);
  // The commit stands, whatever becomes of this.
  if (unmeasured_bytes_ >= kBytesBetweenMeasures) Failed(Measure()).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<bool> PostgresqlStore::Resolve(int64_t number, absl::Status lost) {
  Failed(std::move(lost)).IgnoreError();
  const Clock& clock = Clock::Steady();
  const Clock::TimePoint end = clock.Now() + kResolution;
  milliseconds pause = kFirstRetry;
  while (true) {
    absl::Status status = Connect();
    if (connection_.has_value()) {
      const absl::StatusOr<bool> stands = lead_.IsCommitted(number, *connection_);
      if (stands.ok()) return stands;
      status = Failed(stands.status());
    }
    if (clock.Now() >= end) {
      return Failed(absl::AbortedError(
          absl::StrCat("store: whether the last commit stands is not known: ",
                       std::string(status.message()))));
    }
    // With the lock: nothing else may be committed before this is known.
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLastRetry);
  }
}

absl::StatusOr<std::vector<std::string>> PostgresqlStore::Jobs() {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckLead(); !status.ok()) return status;
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_) names.push_back(name);
  return names;
}

absl::StatusOr<StoredJob> PostgresqlStore::Load(const std::string& job) {
  // Without waiting for a commit that waits for the database.
  if (down_) return NotConnected();
  MutexLock lock(mutex_);
  if (absl::Status status = CheckLead(); !status.ok()) return status;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
  }
  absl::StatusOr<StoredJob> stored = LoadJob(job, found->second, *connection_);
  if (!stored.ok()) return Failed(stored.status());
  return stored;
}

absl::StatusOr<StoredProfiles> PostgresqlStore::Profiles() {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckLead(); !status.ok()) return status;
  absl::StatusOr<StoredProfiles> profiles = LoadProfiles(*connection_);
  if (!profiles.ok()) return Failed(profiles.status());
  return profiles;
}

}  // namespace evenpack
