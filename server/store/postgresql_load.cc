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

// Three statements about the job of a number, at the end of a transaction.
void QueueJob(int64_t id, PostgresqlConnection& connection) {
  connection.Queue(
      "SELECT records, bytes, checksum FROM evenpack_snapshots WHERE job = $1::bigint",
      PostgresqlValues().Add(id));
  connection.Queue(
      "SELECT place, bytes, checksum FROM evenpack_records "
      "WHERE place >= $1::bigint AND place <= $2::bigint ORDER BY place",
      PostgresqlValues().Add(RecordPlace(id, 0)).Add(LastRecordPlace(id)));
  connection.Queue(
      "SELECT stream, first, bytes, checksum FROM evenpack_tokens "
      "WHERE job = $1::bigint ORDER BY stream, first",
      PostgresqlValues().Add(id));
  connection.Queue("COMMIT");
}

absl::StatusOr<StoredJob> TakeJob(std::span<const PostgresqlRows> rows, int64_t id,
                                  const std::string& name) {
  StoredJob stored;
  absl::Status status = TakeSnapshot(rows[0], id, stored);
  if (status.ok()) status = TakeRecords(rows[1], id, stored);
  if (status.ok()) status = TakeTokens(rows[2], id, stored);
  if (status.ok()) return stored;
  return absl::DataLossError(
      absl::StrCat(status.message(), ", reading job '", name, "'"));
}

absl::Status CheckJobRow(std::string_view name, int64_t id, std::string_view checksum) {
  if (checksum == RowChecksum(kJobsTable, id, 0, name)) return absl::OkStatus();
  return DamagedRow(
      absl::StrCat("the row of job '", std::string(name), "' is damaged"));
}

}  // namespace

absl::StatusOr<PostgresqlJobs> LoadJobs(const std::string& server,
                                        std::span<const int64_t> ids,
                                        PostgresqlConnection& connection) {
  // A job's records are within 2^40 places (stored_row.h).
  const absl::StatusOr<PostgresqlRows> rows = connection.Ask(
      "SELECT id, epoch, name, checksum, "
      "coalesce((SELECT records FROM evenpack_snapshots WHERE job = id), 0), "
      "coalesce((SELECT max(place) - (id << 40) + 1 FROM evenpack_records "
      "WHERE place >= id << 40 AND place <= (id << 40 | 1099511627775)), 0) "
      "FROM evenpack_leases JOIN evenpack_jobs ON id = job "
      "WHERE job = ANY($2::bigint[]) AND server = $1::text",
      PostgresqlValues().Add(server).Add(ids));
  if (!rows.ok()) return rows.status();
  PostgresqlJobs jobs;
  for (int row = 0; row < rows->size(); ++row) {
    const std::string name(rows->Bytes(row, 2));
    PostgresqlJob& job = jobs[name];
    job.id = rows->Integer(row, 0);
    job.epoch = rows->Integer(row, 1);
    job.records =
        static_cast<uint64_t>(std::max(rows->Integer(row, 4), rows->Integer(row, 5)));
    job.damage = CheckJobRow(name, job.id, rows->Bytes(row, 3));
  }
  return jobs;
}

absl::StatusOr<LoadedJob> LoadJob(const std::string& server, const std::string& name,
                                  PostgresqlConnection& connection) {
  // One state of the database, also while this server commits to the job.
  connection.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  connection.Queue(
      "SELECT id, checksum, epoch, (server = $2::text)::integer::bigint "
      "FROM evenpack_jobs JOIN evenpack_leases ON job = id WHERE name = $1::text",
      PostgresqlValues().Add(name).Add(server));
  const absl::StatusOr<std::vector<PostgresqlRows>> found = connection.Exchange();
  if (!found.ok()) return found.status();
  const PostgresqlRows& row = (*found)[1];
  if (row.size() == 0) {
    return absl::NotFoundError(absl::StrCat("job: '", name, "' is not in the store"));
  }
  if (row.Integer(0, 3) == 0) return absl::AbortedError("store: another server leads");
  LoadedJob loaded{row.Integer(0, 0), row.Integer(0, 2), StoredJob()};
  QueueJob(loaded.id, connection);
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection.Exchange();
  if (!rows.ok()) return rows.status();
  const absl::Status status = CheckJobRow(name, loaded.id, row.Bytes(0, 1));
  loaded.job =
      status.ok() ? TakeJob(*rows, loaded.id, name) : absl::StatusOr<StoredJob>(status);
  return loaded;
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
