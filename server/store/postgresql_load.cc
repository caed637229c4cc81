#include "server/store/postgresql_load.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/stored_row.h"

namespace evenpack {
namespace {

absl::Status TakeSnapshot(const PostgresqlRows& rows, int64_t job, StoredJob& stored) {
  if (rows.size() == 0) return absl::OkStatus();
  const int64_t records = rows.Integer(0, 0);
  stored.snapshot_records = static_cast<uint64_t>(records);
  stored.snapshot = std::string(rows.Bytes(0, 1));
  const bool whole =
      rows.Bytes(0, 2) == RowChecksum(kSnapshotsTable, job, records, stored.snapshot);
  return whole ? absl::OkStatus() : DamagedRow("a snapshot is damaged");
}

absl::Status TakeRecords(const PostgresqlRows& rows, int64_t job, StoredJob& stored) {
  int64_t place = RecordPlace(job, stored.snapshot_records);
  for (int row = 0; row < rows.size(); ++row) {
    // A snapshot covers them; they went with it.
    if (rows.Integer(row, 0) < place) continue;
    stored.records.emplace_back(rows.Bytes(row, 1));
    if (rows.Integer(row, 0) != place ||
        rows.Bytes(row, 2) !=
            RowChecksum(kRecordsTable, place, 0, stored.records.back())) {
      return DamagedRow(
          absl::StrCat("record ", place - RecordPlace(job, 0), " is damaged"));
    }
    ++place;
  }
  return absl::OkStatus();
}

absl::Status TakeTokens(const PostgresqlRows& rows, int64_t job, StoredJob& stored) {
  for (int row = 0; row < rows.size(); ++row) {
    const int64_t stream = rows.Integer(row, 0);
    const int64_t first = rows.Integer(row, 1);
    StoredTokens& tokens = stored.tokens.emplace_back();
    tokens.stream = static_cast<uint32_t>(stream);
    tokens.first_sequence = static_cast<uint64_t>(first);
    tokens.bytes = std::string(rows.Bytes(row, 2));
    if (rows.Bytes(row, 3) != TokensChecksum(job, stream, first, tokens.bytes)) {
      return DamagedRow(absl::StrCat("the tokens of stream ", stream, " from document ",
                                     first, " on are damaged"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PostgresqlJobs> LoadJobs(PostgresqlConnection& connection) {
  // A job's records are within 2^40 places (stored_row.h).
  const absl::StatusOr<PostgresqlRows> rows = connection.Ask(
      "SELECT id, name, checksum, "
      "coalesce((SELECT records FROM evenpack_snapshots WHERE job = id), 0), "
      "coalesce((SELECT max(place) + 1 FROM evenpack_records "
      "WHERE place >= id << 40 AND place < (id + 1) << 40), 0) "
      "FROM evenpack_jobs ORDER BY id");
  if (!rows.ok()) return rows.status();
  PostgresqlJobs jobs;
  for (int row = 0; row < rows->size(); ++row) {
    const std::string name(rows->Bytes(row, 1));
    PostgresqlJob& job = jobs[name];
    job.id = rows->Integer(row, 0);
    job.records = static_cast<uint64_t>(std::max(
        rows->Integer(row, 3), rows->Integer(row, 4) - RecordPlace(job.id, 0)));
    if (rows->Bytes(row, 2) != RowChecksum(kJobsTable, job.id, 0, name)) {
      job.damage = DamagedRow(absl::StrCat("the row of job '", name, "' is damaged"));
    }
  }
  return jobs;
}

absl::StatusOr<StoredJob> LoadJob(const std::string& name, const PostgresqlJob& job,
                                  PostgresqlConnection& connection) {
  if (!job.damage.ok()) return job.damage;
  connection.Queue(
      "SELECT records, bytes, checksum FROM evenpack_snapshots WHERE job = $1::bigint",
      PostgresqlValues().Add(job.id));
  connection.Queue(
      "SELECT place, bytes, checksum FROM evenpack_records "
      "WHERE place >= $1::bigint AND place < $2::bigint ORDER BY place",
      PostgresqlValues().Add(RecordPlace(job.id, 0)).Add(RecordPlace(job.id + 1, 0)));
  connection.Queue(
      "SELECT stream, first, bytes, checksum FROM evenpack_tokens "
      "WHERE job = $1::bigint ORDER BY stream, first",
      PostgresqlValues().Add(job.id));
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection.Exchange();
  if (!rows.ok()) return rows.status();
  StoredJob stored;
  absl::Status status = TakeSnapshot((*rows)[0], job.id, stored);
  if (status.ok()) status = TakeRecords((*rows)[1], job.id, stored);
  if (status.ok()) status = TakeTokens((*rows)[2], job.id, stored);
  if (!status.ok()) {
    return absl::DataLossError(
        absl::StrCat(status.message(), ", reading job '", name, "'"));
  }
  const uint64_t records = stored.snapshot_records + stored.records.size();
  if (records == job.records) return stored;
  return DamagedRow(absl::StrCat("the records of job '", name, "' from ", records,
                                 " on are missing"));
}

absl::StatusOr<StoredProfiles> LoadProfiles(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> rows =
      connection.Ask("SELECT name, bytes, checksum FROM evenpack_profiles");
  if (!rows.ok()) return rows.status();
  StoredProfiles profiles;
  for (int row = 0; row < rows->size(); ++row) {
    const std::string name(rows->Bytes(row, 0));
    std::string bytes(rows->Bytes(row, 1));
    if (rows->Bytes(row, 2) == ProfileChecksum(name, bytes)) {
      profiles.emplace(name, std::move(bytes));
    } else {
      profiles.emplace(name,
                       DamagedRow(absl::StrCat("profile '", name, "' is damaged")));
    }
  }
  return profiles;
}

}  // namespace evenpack
