#include "server/store/sqlite_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/runtime/fault_point.h"
#include "server/store/file_system_check.h"
#include "server/store/sqlite_schema.h"
#include "server/store/stored_row.h"
#include "server/store/wal_check.h"
#include "server/store/write_check.h"

namespace evenpack {
namespace {

// What is damaged, where SQLite itself found it.
absl::Status Of(std::string_view what, const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(
      absl::StrCat(status.message(), ", reading ", std::string(what)));
}

bool HasLog(const std::string& path) {
  std::error_code none;
  const uint64_t bytes = std::filesystem::file_size(path + "-wal", none);
  return !none && bytes > 0;
}

// SQLite makes an index of a log beside it, and says of one that it can't make that the
// database is read-only.
absl::Status CheckLogCanBeRead(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  if (access(directory.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("store: '", path, "' has a write-ahead log, and '", directory,
                   "' can't be written: ", std::strerror(errno),
                   "; accepted: a copy of both in a directory that may be written"));
}

// A server that has the file writes its log at any time, and so may have it look
// damaged to whoever reads it meanwhile.
absl::Status CheckLog(const std::string& path, bool is_locked) {
  absl::Status status = CheckWalOf(path);
  if (status.ok() || is_locked) return status;
  const auto taken = ReadingLock::Take(path);
  return absl::IsFailedPrecondition(taken.status()) ? taken.status() : CheckWalOf(path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& given,
                                                               Access access) {
  const std::string path = FollowLinks(given);
  if (absl::Status status = CheckFileSystem(path); !status.ok()) return status;
  const bool writes = access == Access::kReadWrite;
  std::unique_ptr<const ReadingLock> reading;
  SqliteDatabase::Mode mode = SqliteDatabase::Mode::kCreate;
  if (!writes) {
    absl::StatusOr<std::unique_ptr<ReadingLock>> taken = ReadingLock::Take(path);
    if (!taken.ok()) return taken.status();
    reading = *std::move(taken);
    mode = HasLog(path) ? SqliteDatabase::Mode::kReadOnly
                        : SqliteDatabase::Mode::kUnchanging;
  }
  absl::Status status = CheckLog(path, /*is_locked=*/!writes);
  if (mode == SqliteDatabase::Mode::kReadOnly) status.Update(CheckLogCanBeRead(path));
  if (!status.ok()) return status;
  absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(path, mode);
  if (!database.ok()) return database.status();
  status = writes ? PrepareToWrite(*database) : PrepareToRead(*database);
  if (!status.ok()) return status;
  std::unique_ptr<SqliteStore> store(
      new SqliteStore(path, std::move(reading), *std::move(database)));
  MutexLock lock(store->mutex_);
  status = store->PrepareStatements();
  if (status.ok()) status = store->FindJobs();
  if (!status.ok()) return status;
  // SQLite makes it when it first reads the file, and keeps it while it has that open.
  store->places_.NoteLog();
  return store;
}

uint64_t SqliteStore::SizeBytes() const {
  uint64_t total = 0;
  for (const std::string_view suffix : {"", "-wal"}) {
    std::error_code error;
    const uint64_t bytes =
        std::filesystem::file_size(path_ + std::string(suffix), error);
    // There need not be a log.
    if (!error) total += bytes;
  }
  return total;
}

absl::Status SqliteStore::PrepareStatements() {
  absl::Status status = PrepareAll({
      {&statements_.begin, "BEGIN IMMEDIATE"},
      {&statements_.commit, "COMMIT"},
      {&statements_.rollback, "ROLLBACK"},
      {&statements_.add_job, "INSERT INTO jobs VALUES (?1, ?2, ?3)"},
      {&statements_.remove_job, "DELETE FROM jobs WHERE id = ?1"},
      {&statements_.put_snapshot, "REPLACE INTO snapshots VALUES (?1, ?2, ?3, ?4)"},
      {&statements_.remove_snapshot, "DELETE FROM snapshots WHERE job = ?1"},
      {&statements_.get_snapshot,
       "SELECT records, bytes, checksum FROM snapshots WHERE job = ?1"},
      {&statements_.add_record, "INSERT INTO records VALUES (?1, ?2, ?3)"},
      {&statements_.remove_records,
       "DELETE FROM records WHERE place >= ?1 AND place <= ?2"},
      {&statements_.get_records,
       "SELECT place, bytes, checksum FROM records "
       "WHERE place >= ?1 AND place <= ?2 ORDER BY place"},
  });
  if (!status.ok()) return status;
  const absl::StatusOr<bool> profiles = HasTable(kProfilesTable);
  if (!profiles.ok()) return profiles.status();
  has_profiles_ = *profiles;
  if (!has_profiles_) return absl::OkStatus();
  status = PrepareAll({
      {&statements_.put_profile, "REPLACE INTO profiles VALUES (?1, ?2, ?3)"},
      {&statements_.remove_profile, "DELETE FROM profiles WHERE name = ?1"},
      {&statements_.get_profile,
       "SELECT bytes, checksum FROM profiles WHERE name = ?1"},
  });
  if (!status.ok()) return status;
  const absl::StatusOr<bool> tokens = HasTable(kTokensTable);
  if (!tokens.ok()) return tokens.status();
  has_tokens_ = *tokens;
  if (!has_tokens_) return absl::OkStatus();
  return PrepareAll({
      {&statements_.put_tokens, "REPLACE INTO tokens VALUES (?1, ?2, ?3, ?4, ?5)"},
      {&statements_.drop_tokens,
       "DELETE FROM tokens WHERE job = ?1 AND stream = ?2 AND first < ?3"},
      {&statements_.remove_tokens, "DELETE FROM tokens WHERE job = ?1"},
      {&statements_.get_tokens,
       "SELECT stream, first, bytes, checksum FROM tokens WHERE job = ?1 "
       "ORDER BY stream, first"},
  });
}

absl::StatusOr<bool> SqliteStore::HasTable(std::string_view name) {
  const absl::StatusOr<int64_t> tables = database_.Number(
      absl::StrCat("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                   "name = '",
                   std::string(name), "'"));
  if (!tables.ok()) return tables.status();
  return *tables > 0;
}

absl::Status SqliteStore::PrepareAll(const StatementTexts& texts) {
  for (const auto& [statement, text] : texts) {
    absl::StatusOr<SqliteStatement> prepared = database_.Prepare(text);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::FindJobs() {
  absl::StatusOr<SqliteStatement> list =
      database_.Prepare("SELECT id, name, checksum FROM jobs ORDER BY id");
  if (!list.ok()) return list.status();
  while (true) {
    const absl::StatusOr<bool> row = list->Next();
    if (!row.ok()) return Of("the list of jobs", row.status());
    if (!*row) break;
    const std::string name(list->Bytes(1));
    KnownJob& job = jobs_[name];
    job.id = list->Integer(0);
    if (list->Bytes(2) != RowChecksum(kJobsTable, job.id, 0, name)) {
      job.damage = DamagedRow(absl::StrCat("the row of job '", name, "' is damaged"));
    }
    next_id_ = std::max(next_id_, job.id + 1);
  }
  for (auto& [name, job] : jobs_) {
    const absl::StatusOr<uint64_t> records = CountRecords(job.id);
    if (records.ok()) {
      job.records = *records;
    } else if (absl::IsDataLoss(records.status())) {
      job.damage =
          Of(absl::StrCat("the records of job '", name, "'"), records.status());
    } else {
      return records.status();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SqliteStore::CountRecords(int64_t job) {
  const absl::StatusOr<int64_t> covered =
      database_.Number(absl::StrCat("SELECT records FROM snapshots WHERE job = ", job));
  if (!covered.ok()) return covered.status();
  const int64_t first = RecordPlace(job, 0);
  const absl::StatusOr<int64_t> after_last = database_.Number(
      absl::StrCat("SELECT max(place) + 1 FROM records WHERE place >= ", first,
                   " AND place <= ", LastRecordPlace(job)));
  if (!after_last.ok()) return after_last.status();
  return static_cast<uint64_t>(std::max(*covered, *after_last - first));
}

absl::Status SqliteStore::Commit(std::span<const StoreWrite> writes) {
  MutexLock lock(mutex_);
  // The lock is held while the function below runs, which the compiler can't see.
  const KnownJobs* const jobs = &jobs_;
  absl::Status status =
      CheckWrites(writes, [jobs](const std::string& name) -> std::optional<uint64_t> {
        const auto found = jobs->find(name);
        if (found == jobs->end()) return std::nullopt;
        return found->second.records;
      });
  if (!status.ok()) return status;
  status = statements_.begin.Run();
  if (!status.ok()) return status;
  bool in_doubt = false;
  WrittenJobs written;
  status = WriteAll(writes, written);
  if (status.ok()) status = places_.Check(database_.HasMoved());
  if (status.ok()) {
    FaultPoint("commit.before");
    status = statements_.commit.Run();
    in_doubt = !status.ok() && database_.LastFlushFailed();
    FaultPoint("commit.after");
  }
  if (!status.ok()) {
    // Of some errors SQLite has made a rollback already.
    statements_.rollback.Run().IgnoreError();
    // What is in a log that was removed would go with this process.
    if (places_.log_is_gone()) {
      database_.Run("PRAGMA wal_checkpoint(FULL)").IgnoreError();
    }
    if (in_doubt) doubt_ = absl::UnknownError(status.message());
    // Where it is settled at once, it isn't stored.
    return Settle().ok() ? status : doubt_;
  }
  // Written in the place of one in doubt, if there was one.
  doubt_ = absl::OkStatus();
  for (auto& [name, job] : written) {
    if (job.has_value()) {
      jobs_[name] = *std::move(job);
    } else {
      jobs_.erase(name);
    }
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::Settle() {
  if (doubt_.ok()) return doubt_;
  absl::Status status = database_.OverwriteLastCommit();
  if (status.ok()) doubt_ = absl::OkStatus();
  return status;
}

absl::Status SqliteStore::WriteAll(std::span<const StoreWrite> writes,
                                   WrittenJobs& written) {
  for (const StoreWrite& write : writes) {
    absl::Status status =
        std::visit([this, &written](const auto& held)
                       EVENPACK_REQUIRES(mutex_) { return Write(held, written); },
                   write);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<SqliteStore::KnownJob>& SqliteStore::ToWrite(const std::string& job,
                                                           WrittenJobs& written) {
  const auto found = written.find(job);
  if (found != written.end()) return found->second;
  const auto known = jobs_.find(job);
  return written[job] =
             known == jobs_.end() ? std::nullopt : std::optional(known->second);
}

absl::Status SqliteStore::Write(const AppendRecord& write, WrittenJobs& written) {
  std::optional<KnownJob>& job = ToWrite(write.job, written);
  if (!job.has_value()) {
    if (absl::Status status = CheckJobNumber(next_id_); !status.ok()) return status;
    job.emplace().id = next_id_++;
    const std::string checksum = RowChecksum(kJobsTable, job->id, 0, write.job);
    absl::Status status = statements_.add_job.Bind(1, job->id)
                              .BindText(2, write.job)
                              .Bind(3, checksum)
                              .Run();
    if (!status.ok()) return status;
  }
  if (!job->damage.ok()) return job->damage;
  const int64_t place = RecordPlace(job->id, write.number);
  const std::string checksum = RowChecksum(kRecordsTable, place, 0, write.bytes);
  job->records = write.number + 1;
  return statements_.add_record.Bind(1, place)
      .Bind(2, write.bytes)
      .Bind(3, checksum)
      .Run();
}

absl::Status SqliteStore::Write(const WriteSnapshot& write, WrittenJobs& written) {
  const std::optional<KnownJob>& job = ToWrite(write.job, written);
  if (!job->damage.ok()) return job->damage;
  const auto records = static_cast<int64_t>(write.records);
  const std::string checksum =
      RowChecksum(kSnapshotsTable, job->id, records, write.bytes);
  FaultPoint("snapshot.before");
  absl::Status status = statements_.put_snapshot.Bind(1, job->id)
                            .Bind(2, records)
                            .Bind(3, write.bytes)
                            .Bind(4, checksum)
                            .Run();
  FaultPoint("snapshot.after");
  if (!status.ok()) return status;
  FaultPoint("compaction.before");
  status = statements_.remove_records.Bind(1, RecordPlace(job->id, 0))
               .Bind(2, RecordPlace(job->id, write.records) - 1)
               .Run();
  FaultPoint("compaction.after");
  return status;
}

// Also of a damaged job: then its name is free again.
absl::Status SqliteStore::Write(const RemoveJob& write, WrittenJobs& written) {
  std::optional<KnownJob>& job = ToWrite(write.job, written);
  absl::Status status = statements_.remove_job.Bind(1, job->id).Run();
  if (status.ok()) status = statements_.remove_snapshot.Bind(1, job->id).Run();
  if (status.ok()) {
    status = statements_.remove_records.Bind(1, RecordPlace(job->id, 0))
                 .Bind(2, LastRecordPlace(job->id))
                 .Run();
  }
  if (status.ok()) status = statements_.remove_tokens.Bind(1, job->id).Run();
  job.reset();
  return status;
}

absl::Status SqliteStore::Write(const PutTokens& write, WrittenJobs& written) {
  const std::optional<KnownJob>& job = ToWrite(write.job, written);
  if (!job->damage.ok()) return job->damage;
  const auto first = static_cast<int64_t>(write.first_sequence);
  const std::string checksum =
      TokensChecksum(job->id, write.stream, first, write.bytes);
  return statements_.put_tokens.Bind(1, job->id)
      .Bind(2, int64_t{write.stream})
      .Bind(3, first)
      .Bind(4, write.bytes)
      .Bind(5, checksum)
      .Run();
}

absl::Status SqliteStore::Write(const DropTokens& write, WrittenJobs& written) {
  const std::optional<KnownJob>& job = ToWrite(write.job, written);
  if (!job->damage.ok()) return job->damage;
  return statements_.drop_tokens.Bind(1, job->id)
      .Bind(2, int64_t{write.stream})
      .Bind(3, static_cast<int64_t>(write.below))
      .Run();
}

absl::Status SqliteStore::Write(const WriteProfile& write, WrittenJobs&) {
  const std::string checksum = ProfileChecksum(write.profile, write.bytes);
  return statements_.put_profile.BindText(1, write.profile)
      .Bind(2, write.bytes)
      .Bind(3, checksum)
      .Run();
}

absl::Status SqliteStore::Write(const RemoveProfile& write, WrittenJobs&) {
  return statements_.remove_profile.BindText(1, write.profile).Run();
}

absl::StatusOr<std::vector<std::string>> SqliteStore::Jobs() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_) names.push_back(name);
  return names;
}

absl::StatusOr<StoredJob> SqliteStore::Load(const std::string& job) {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
  }
  if (!found->second.damage.ok()) return found->second.damage;
  StoredJob stored;
  absl::Status status = Settle();
  if (status.ok()) status = LoadSnapshot(found->second.id, stored);
  if (status.ok()) status = LoadRecords(found->second.id, stored);
  if (status.ok()) status = LoadTokens(found->second.id, stored);
  if (!status.ok()) return Of(absl::StrCat("job '", job, "'"), status);
  const uint64_t records = stored.snapshot_records + stored.records.size();
  // A job has a first record from the commit on that made it.
  if (records > 0 && records == found->second.records) return stored;
  return DamagedRow(
      absl::StrCat("the records of job '", job, "' from ", records, " on are missing"));
}

absl::Status SqliteStore::LoadSnapshot(int64_t job, StoredJob& stored) {
  SqliteStatement& get = statements_.get_snapshot;
  const absl::StatusOr<bool> row = get.Bind(1, job).Next();
  if (!row.ok()) return Of("a snapshot", row.status());
  if (!*row) return absl::OkStatus();
  const int64_t records = get.Integer(0);
  stored.snapshot_records = static_cast<uint64_t>(records);
  stored.snapshot = std::string(get.Bytes(1));
  const bool whole =
      get.Bytes(2) == RowChecksum(kSnapshotsTable, job, records, stored.snapshot);
  get.Reset();
  return whole ? absl::OkStatus() : DamagedRow("a snapshot is damaged");
}

absl::Status SqliteStore::LoadRecords(int64_t job, StoredJob& stored) {
  SqliteStatement& get = statements_.get_records;
  int64_t place = RecordPlace(job, stored.snapshot_records);
  get.Bind(1, place).Bind(2, LastRecordPlace(job));
  for (;; ++place) {
    const std::string name = absl::StrCat("record ", place - RecordPlace(job, 0));
    const absl::StatusOr<bool> row = get.Next();
    if (!row.ok()) return Of(name, row.status());
    if (!*row) return absl::OkStatus();
    stored.records.emplace_back(get.Bytes(1));
    if (get.Integer(0) != place ||
        get.Bytes(2) != RowChecksum(kRecordsTable, place, 0, stored.records.back())) {
      get.Reset();
      return DamagedRow(absl::StrCat(name, " is damaged"));
    }
  }
}

absl::Status SqliteStore::LoadTokens(int64_t job, StoredJob& stored) {
  if (!has_tokens_) return absl::OkStatus();
  SqliteStatement& get = statements_.get_tokens;
  get.Bind(1, job);
  while (true) {
    const absl::StatusOr<bool> row = get.Next();
    if (!row.ok()) return Of("tokens", row.status());
    if (!*row) return absl::OkStatus();
    const int64_t stream = get.Integer(0);
    const int64_t first = get.Integer(1);
    StoredTokens& tokens = stored.tokens.emplace_back();
    tokens.stream = static_cast<uint32_t>(stream);
    tokens.first_sequence = static_cast<uint64_t>(first);
    tokens.bytes = std::string(get.Bytes(2));
    if (get.Bytes(3) != TokensChecksum(job, stream, first, tokens.bytes)) {
      get.Reset();
      return DamagedRow(absl::StrCat("the tokens of stream ", stream, " from document ",
                                     first, " on are damaged"));
    }
  }
}

absl::StatusOr<StoredProfiles> SqliteStore::Profiles() {
  MutexLock lock(mutex_);
  StoredProfiles profiles;
  if (!has_profiles_) return profiles;
  if (absl::Status status = Settle(); !status.ok()) return status;
  absl::StatusOr<SqliteStatement> list =
      database_.Prepare("SELECT name FROM profiles ORDER BY name");
  if (!list.ok()) return list.status();
  while (true) {
    const absl::StatusOr<bool> row = list->Next();
    if (!row.ok()) return Of("the list of profiles", row.status());
    if (!*row) break;
    profiles.emplace(list->Bytes(0), "");
  }
  for (auto& [name, bytes] : profiles) {
    bytes = LoadProfile(name);
    if (!bytes.ok() && !absl::IsDataLoss(bytes.status())) return bytes.status();
  }
  return profiles;
}

absl::StatusOr<std::vector<std::string>> SqliteStore::Faults() {
  MutexLock lock(mutex_);
  auto faults = database_.Faults();
  if (!faults.ok()) return Of("the file's structure", faults.status());
  return faults;
}

absl::StatusOr<std::string> SqliteStore::LoadProfile(const std::string& name) {
  SqliteStatement& get = statements_.get_profile;
  const std::string what = absl::StrCat("profile '", name, "'");
  const absl::StatusOr<bool> row = get.BindText(1, name).Next();
  if (!row.ok()) return Of(what, row.status());
  std::string bytes(*row ? get.Bytes(0) : "");
  const bool whole = *row && get.Bytes(1) == ProfileChecksum(name, bytes);
  get.Reset();
  if (whole) return bytes;
  return DamagedRow(absl::StrCat(what, " is damaged"));
}

}  // namespace evenpack
