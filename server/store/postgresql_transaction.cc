#include "server/store/postgresql_transaction.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"
#include "server/store/postgresql_leftovers.h"
#include "server/store/postgresql_schema.h"
#include "server/store/stored_row.h"

namespace evenpack {
namespace {

// Of records in one statement, at most about so many.
constexpr size_t kMostBytes = 8 << 20;
// A value has fewer than 2^30 bytes, with what stands beside it in its row.
constexpr size_t kMostSnapshotBytes = size_t{1000} << 20;
// A snapshot is one statement. What is written slower than this, from so many bytes on,
// takes more time than a statement may.
constexpr size_t kLarge = size_t{16} << 20;
constexpr size_t kBytesPerMillisecond = 10'000;
// That evenpack_make gives a job (postgresql_schema.cc).
constexpr int64_t kFirstEpoch = 1;

}  // namespace

std::vector<std::string_view> PostgresqlTransaction::JobsMade(
    std::span<const StoreWrite> writes) {
  std::vector<std::string_view> names;
  for (const StoreWrite& write : writes) {
    const auto* const record = std::get_if<AppendRecord>(&write);
    if (record != nullptr && record->number == 0) names.emplace_back(record->job);
  }
  return names;
}

absl::Status PostgresqlTransaction::Add(std::span<const StoreWrite> writes) {
  for (const StoreWrite& write : writes) {
    absl::Status status =
        std::visit([this](const auto& held) { return Write(held); }, write);
    if (!status.ok()) return status;
  }
  AddRecords();
  return absl::OkStatus();
}

int64_t PostgresqlTransaction::Queue(PostgresqlLead& lead,
                                     PostgresqlConnection& connection) {
  connection.Queue("BEGIN");
  const std::chrono::milliseconds time = TimeOfLargest();
  if (time.count() > 0) {
    connection.Queue("SELECT set_config('statement_timeout', $1::text, true)",
                     PostgresqlValues().Add(absl::StrCat(time.count())));
    connection.Allow(time + (kPostgresqlPatience - kPostgresqlStatementTime));
  }
  const int64_t number = lead.QueueEnter(led_, connection);
  for (Statement& statement : statements_) {
    connection.Queue(statement.text, std::move(statement.values));
  }
  if (time.count() > 0) lead.QueueSign(connection);
  PostgresqlLead::QueueCommit(connection);
  return number;
}

std::chrono::milliseconds PostgresqlTransaction::TimeOfLargest() const {
  if (largest_ < kLarge) return std::chrono::milliseconds(0);
  return kPostgresqlStatementTime +
         std::chrono::milliseconds(largest_ / kBytesPerMillisecond);
}

void PostgresqlTransaction::Apply(LedJobs& jobs) const {
  for (const auto& [name, job] : written_) {
    if (job.has_value()) {
      jobs.Set(name, *job);
    } else {
      jobs.Remove(name);
    }
  }
}

void PostgresqlTransaction::Settle(LedJobs& jobs) const {
  for (const auto& [name, job] : written_) jobs.Settle(name, job);
}

std::optional<PostgresqlJob>& PostgresqlTransaction::ToWrite(const std::string& job) {
  const auto found = written_.find(job);
  if (found != written_.end()) return found->second;
  std::optional<PostgresqlJob>& written = written_[job];
  if (const PostgresqlJob* const known = jobs_.Writable(job); known != nullptr) {
    written = *known;
    led_[known->id] = known->epoch;
  }
  return written;
}

void PostgresqlTransaction::ChangeProfiles() {
  if (changes_profiles_) return;
  changes_profiles_ = true;
  AddStatement("UPDATE evenpack_profile_changes SET version = version + 1", {});
}

void PostgresqlTransaction::AddStatement(std::string_view text,
                                         PostgresqlValues values) {
  AddRecords();
  statements_.push_back({text, std::move(values)});
}

void PostgresqlTransaction::AddRecords() {
  if (records_.places.empty()) return;
  const std::vector<std::string_view> checksums(records_.checksums.begin(),
                                                records_.checksums.end());
  PostgresqlValues values;
  values.Add(std::span<const int64_t>(records_.places))
      .Add(std::span<const std::string_view>(records_.bytes))
      .Add(std::span<const std::string_view>(checksums));
  statements_.push_back(
      {"INSERT INTO evenpack_records "
       "SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])",
       std::move(values)});
  records_ = {};
}

absl::Status PostgresqlTransaction::Write(const AppendRecord& write) {
  std::optional<PostgresqlJob>& job = ToWrite(write.job);
  if (!job.has_value()) {
    const int64_t id = ids_.back();
    ids_.pop_back();
    job.emplace().id = id;
    job->epoch = kFirstEpoch;
    AddStatement("SELECT evenpack_make($1::text, $2::bigint, $3::text, $4::bytea)",
                 PostgresqlValues().Add(server_).Add(id).Add(write.job).Add(
                     RowChecksum(kJobsTable, id, 0, write.job)));
  }
  if (!job->damage.ok()) return job->damage;
  const int64_t place = RecordPlace(job->id, write.number);
  job->records = write.number + 1;
  records_.places.push_back(place);
  records_.bytes.emplace_back(write.bytes);
  records_.checksums.push_back(RowChecksum(kRecordsTable, place, 0, write.bytes));
  records_.size += write.bytes.size();
  if (records_.size >= kMostBytes) AddRecords();
  return absl::OkStatus();
}

absl::Status PostgresqlTransaction::Write(const WriteSnapshot& write) {
  const std::optional<PostgresqlJob>& job = ToWrite(write.job);
  if (!job->damage.ok()) return job->damage;
  if (write.bytes.size() > kMostSnapshotBytes) {
    // The job is as safe without, and goes on.
    Log(LogLevel::kError, "snapshot too large",
        {{"job", write.job},
         {"bytes", absl::StrCat(write.bytes.size())},
         {"accepted", absl::StrCat("up to ", kMostSnapshotBytes)}});
    return absl::OkStatus();
  }
  largest_ = std::max(largest_, write.bytes.size());
  const auto records = static_cast<int64_t>(write.records);
  AddStatement(
      "INSERT INTO evenpack_snapshots "
      "VALUES ($1::bigint, $2::bigint, $3::bytea, $4::bytea) ON CONFLICT (job) "
      "DO UPDATE SET records = excluded.records, bytes = excluded.bytes, "
      "checksum = excluded.checksum",
      PostgresqlValues()
          .Add(job->id)
          .Add(records)
          .Add(write.bytes)
          .Add(RowChecksum(kSnapshotsTable, job->id, records, write.bytes)));
  return absl::OkStatus();
}

// Also of a damaged job: then its name is free again.
absl::Status PostgresqlTransaction::Write(const RemoveJob& write) {
  std::optional<PostgresqlJob>& job = ToWrite(write.job);
  const int64_t id = job->id;
  AddStatement("DELETE FROM evenpack_jobs WHERE id = $1::bigint",
               PostgresqlValues().Add(id));
  AddStatement(kLeaveSnapshot, PostgresqlValues().Add(id));
  AddStatement(kLeaveJob, PostgresqlValues().Add(id));
  AddStatement("DELETE FROM evenpack_leases WHERE job = $1::bigint",
               PostgresqlValues().Add(id));
  job.reset();
  return absl::OkStatus();
}

absl::Status PostgresqlTransaction::Write(const PutTokens& write) {
  const std::optional<PostgresqlJob>& job = ToWrite(write.job);
  if (!job->damage.ok()) return job->damage;
  const auto first = static_cast<int64_t>(write.first_sequence);
  AddStatement(
      "INSERT INTO evenpack_tokens "
      "VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bytea, $5::bytea) "
      "ON CONFLICT (job, stream, first) "
      "DO UPDATE SET bytes = excluded.bytes, checksum = excluded.checksum",
      PostgresqlValues()
          .Add(job->id)
          .Add(int64_t{write.stream})
          .Add(first)
          .Add(write.bytes)
          .Add(TokensChecksum(job->id, write.stream, first, write.bytes)));
  return absl::OkStatus();
}

absl::Status PostgresqlTransaction::Write(const DropTokens& write) {
  const std::optional<PostgresqlJob>& job = ToWrite(write.job);
  if (!job->damage.ok()) return job->damage;
  AddStatement(kLeaveTokens, PostgresqlValues()
                                 .Add(job->id)
                                 .Add(int64_t{write.stream})
                                 .Add(static_cast<int64_t>(write.below)));
  return absl::OkStatus();
}

absl::Status PostgresqlTransaction::Write(const WriteProfile& write) {
  ChangeProfiles();
  AddStatement(
      "INSERT INTO evenpack_profiles VALUES ($1::text, $2::bytea, $3::bytea) "
      "ON CONFLICT (name) "
      "DO UPDATE SET bytes = excluded.bytes, checksum = excluded.checksum",
      PostgresqlValues()
          .Add(write.profile)
          .Add(write.bytes)
          .Add(ProfileChecksum(write.profile, write.bytes)));
  return absl::OkStatus();
}

absl::Status PostgresqlTransaction::Write(const RemoveProfile& write) {
  ChangeProfiles();
  AddStatement("DELETE FROM evenpack_profiles WHERE name = $1::text",
               PostgresqlValues().Add(write.profile));
  return absl::OkStatus();
}

}  // namespace evenpack
