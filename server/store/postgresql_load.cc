#include "server/store/postgresql_load.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_page.h"
#include "server/store/stored_row.h"

namespace evenpack {
namespace {

constexpr std::string_view kSnapshot =
    "SELECT records, octet_length(bytes)::bigint, checksum, "
    "substring(bytes FROM 1 FOR $2::bigint::integer) "
    "FROM evenpack_snapshots WHERE job = $1::bigint";

constexpr std::string_view kSnapshotPart =
    "SELECT substring(bytes FROM $2::bigint::integer FOR $3::bigint::integer) "
    "FROM evenpack_snapshots WHERE job = $1::bigint";

// Whether another page may follow this one, whose bytes are in the column.
bool MayHaveMore(const PostgresqlRows& page, int column) {
  int64_t bytes = 0;
  for (int row = 0; row < page.size(); ++row) {
    bytes += static_cast<int64_t>(page.Bytes(row, column).size());
  }
  return page.size() >= kPostgresqlPageRows || bytes >= kPostgresqlPageBytes;
}

// Reads the job of a number page by page, in a transaction.
class PagedJob {
 public:
  PagedJob(int64_t id, PostgresqlConnection& connection)
      : id_(id), connection_(connection) {}

  // Why it could not be read. What was read may be damaged.
  absl::Status Read();
  // What was read, or its damage.
  absl::StatusOr<StoredJob> Take(const std::string& name);

 private:
  void QueueRecords();
  void QueueTokens();
  // Of a first page, and of what follows it.
  absl::Status ReadSnapshot(const PostgresqlRows& first);
  absl::Status ReadRecords(PostgresqlRows page);
  absl::Status ReadTokens(PostgresqlRows page);
  absl::Status TakeRecords(const PostgresqlRows& page);
  absl::Status TakeTokens(const PostgresqlRows& page);

  const int64_t id_;
  PostgresqlConnection& connection_;
  // Of the next record; and of the last tokens.
  int64_t place_ = RecordPlace(id_, 0);
  int64_t stream_ = -1;
  int64_t first_ = -1;
  StoredJob stored_;
  absl::Status damage_;
};

void PagedJob::QueueRecords() {
  // Those that the snapshot covers may be there for a while (postgresql_leftovers.h).
  static const std::string& statement = *new std::string(SelectPage(
      "place, bytes, checksum",
      {.table = "evenpack_records",
       .order = "place",
       .where = "place >= greatest($1::bigint, (SELECT (job << 40) + records "
                "FROM evenpack_snapshots WHERE job = $1::bigint >> 40)) "
                "AND place <= $2::bigint"}));
  connection_.Queue(statement,
                    PostgresqlValues().Add(place_).Add(LastRecordPlace(id_)));
}

void PagedJob::QueueTokens() {
  static const std::string& statement = *new std::string(SelectPage(
      "stream, first, bytes, checksum",
      {.table = "evenpack_tokens",
       .order = "stream, first",
       .where = "job = $1::bigint AND (stream, first) > ($2::bigint, $3::bigint)"}));
  connection_.Queue(statement, PostgresqlValues().Add(id_).Add(stream_).Add(first_));
}

absl::Status PagedJob::Read() {
  // Most jobs are a page of each.
  connection_.Queue(kSnapshot, PostgresqlValues().Add(id_).Add(kPostgresqlPageBytes));
  QueueRecords();
  QueueTokens();
  absl::StatusOr<std::vector<PostgresqlRows>> pages = connection_.Exchange();
  if (!pages.ok()) return pages.status();
  absl::Status status = ReadSnapshot((*pages)[0]);
  if (status.ok()) status = ReadRecords(std::move((*pages)[1]));
  if (status.ok()) status = ReadTokens(std::move((*pages)[2]));
  return status;
}

absl::Status PagedJob::ReadSnapshot(const PostgresqlRows& first) {
  if (first.size() == 0) return absl::OkStatus();
  const int64_t records = first.Integer(0, 0);
  const int64_t size = first.Integer(0, 1);
  stored_.snapshot_records = static_cast<uint64_t>(records);
  stored_.snapshot.reserve(static_cast<size_t>(size));
  stored_.snapshot.assign(first.Bytes(0, 3));
  for (int64_t read = kPostgresqlPageBytes; read < size; read += kPostgresqlPageBytes) {
    const absl::StatusOr<PostgresqlRows> part = connection_.Ask(
        kSnapshotPart,
        PostgresqlValues().Add(id_).Add(read + 1).Add(kPostgresqlPageBytes));
    if (!part.ok()) return part.status();
    stored_.snapshot.append(part->Bytes(0, 0));
  }
  place_ = RecordPlace(id_, stored_.snapshot_records);
  if (first.Bytes(0, 2) !=
      RowChecksum(kSnapshotsTable, id_, records, stored_.snapshot)) {
    damage_ = DamagedRow("a snapshot is damaged");
  }
  return absl::OkStatus();
}

absl::Status PagedJob::ReadRecords(PostgresqlRows page) {
  while (damage_.ok()) {
    damage_ = TakeRecords(page);
    if (!damage_.ok() || !MayHaveMore(page, 1)) break;
    QueueRecords();
    absl::StatusOr<std::vector<PostgresqlRows>> next = connection_.Exchange();
    if (!next.ok()) return next.status();
    page = std::move(next->front());
  }
  return absl::OkStatus();
}

absl::Status PagedJob::TakeRecords(const PostgresqlRows& page) {
  for (int row = 0; row < page.size(); ++row) {
    stored_.records.emplace_back(page.Bytes(row, 1));
    if (page.Integer(row, 0) != place_ ||
        page.Bytes(row, 2) !=
            RowChecksum(kRecordsTable, place_, 0, stored_.records.back())) {
      return DamagedRow(
          absl::StrCat("record ", place_ - RecordPlace(id_, 0), " is damaged"));
    }
    ++place_;
  }
  return absl::OkStatus();
}

absl::Status PagedJob::ReadTokens(PostgresqlRows page) {
  while (damage_.ok()) {
    damage_ = TakeTokens(page);
    if (!damage_.ok() || !MayHaveMore(page, 2)) break;
    QueueTokens();
    absl::StatusOr<std::vector<PostgresqlRows>> next = connection_.Exchange();
    if (!next.ok()) return next.status();
    page = std::move(next->front());
  }
  return absl::OkStatus();
}

absl::Status PagedJob::TakeTokens(const PostgresqlRows& page) {
  for (int row = 0; row < page.size(); ++row) {
    stream_ = page.Integer(row, 0);
    first_ = page.Integer(row, 1);
    StoredTokens& tokens = stored_.tokens.emplace_back();
    tokens.stream = static_cast<uint32_t>(stream_);
    tokens.first_sequence = static_cast<uint64_t>(first_);
    tokens.bytes = std::string(page.Bytes(row, 2));
    if (page.Bytes(row, 3) != TokensChecksum(id_, stream_, first_, tokens.bytes)) {
      return DamagedRow(absl::StrCat("the tokens of stream ", stream_,
                                     " from document ", first_, " on are damaged"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredJob> PagedJob::Take(const std::string& name) {
  if (damage_.ok()) return std::move(stored_);
  return absl::DataLossError(
      absl::StrCat(damage_.message(), ", reading job '", name, "'"));
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
  // One state of the database, also while this server commits to the job. It holds no
  // leases, and may have a large snapshot's checksum to compute between statements.
  connection.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  connection.Queue("SET LOCAL idle_in_transaction_session_timeout = '60s'");
  connection.Queue(
      "SELECT id, checksum, epoch, (server = $2::text)::integer::bigint "
      "FROM evenpack_jobs JOIN evenpack_leases ON job = id WHERE name = $1::text",
      PostgresqlValues().Add(name).Add(server));
  const absl::StatusOr<std::vector<PostgresqlRows>> found = connection.Exchange();
  if (!found.ok()) return found.status();
  const PostgresqlRows& row = (*found)[2];
  if (row.size() == 0) {
    return absl::NotFoundError(absl::StrCat("job: '", name, "' is not in the store"));
  }
  if (row.Integer(0, 3) == 0) return absl::AbortedError("store: another server leads");
  LoadedJob loaded{row.Integer(0, 0), row.Integer(0, 2), StoredJob()};
  PagedJob job(loaded.id, connection);
  absl::Status status = job.Read();
  if (status.ok()) status = connection.Ask("COMMIT").status();
  if (!status.ok()) return status;
  status = CheckJobRow(name, loaded.id, row.Bytes(0, 1));
  loaded.job = status.ok() ? job.Take(name) : absl::StatusOr<StoredJob>(status);
  return loaded;
}

absl::StatusOr<StoredProfiles> LoadProfiles(PostgresqlConnection& connection) {
  static const std::string& statement = *new std::string(SelectPage(
      "name, bytes, checksum",
      {.table = "evenpack_profiles", .order = "name", .where = "name > $1::text"}));
  StoredProfiles profiles;
  std::string last;
  for (bool more = true; more;) {
    const absl::StatusOr<PostgresqlRows> rows =
        connection.Ask(statement, PostgresqlValues().Add(last));
    if (!rows.ok()) return rows.status();
    for (int row = 0; row < rows->size(); ++row) {
      last = std::string(rows->Bytes(row, 0));
      std::string bytes(rows->Bytes(row, 1));
      if (rows->Bytes(row, 2) == ProfileChecksum(last, bytes)) {
        profiles.emplace(last, std::move(bytes));
      } else {
        profiles.emplace(last,
                         DamagedRow(absl::StrCat("profile '", last, "' is damaged")));
      }
    }
    more = MayHaveMore(*rows, 1);
  }
  return profiles;
}

}  // namespace evenpack
