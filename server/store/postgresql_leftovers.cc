#include "server/store/postgresql_leftovers.h"

#include <utility>
#include <vector>

#include "server/store/stored_row.h"

namespace evenpack {
namespace {

// What PostgreSQL takes for some hundredths of a second.
constexpr int64_t kBatchBytes = 8 << 20;
constexpr int64_t kBatchRows = 1000;

// Rows are found by their places in the table, which can't change meanwhile without the
// row being found changed. The database may have gone back behind what the caller
// knows: what the snapshot doesn't cover stays.
constexpr std::string_view kCovered =
    "WITH removed AS (DELETE FROM evenpack_records WHERE ctid = ANY (ARRAY("
    "SELECT id FROM (SELECT ctid AS id, "
    "sum(octet_length(bytes)) OVER (ORDER BY place) - octet_length(bytes) AS before "
    "FROM (SELECT ctid, place, bytes FROM evenpack_records "
    "WHERE place >= $1::bigint AND place < $2::bigint AND place < $1::bigint + "
    "(SELECT records FROM evenpack_snapshots WHERE job = $1::bigint >> 40) "
    "ORDER BY place LIMIT $4::bigint) AS next) AS page WHERE before < $3::bigint)) "
    "RETURNING 1) SELECT count(*) FROM removed";

constexpr std::string_view kDropped =
    "WITH removed AS (DELETE FROM evenpack_tokens WHERE ctid = ANY (ARRAY("
    "SELECT id FROM (SELECT ctid AS id, "
    "sum(octet_length(bytes)) OVER (ORDER BY job, stream, first) - octet_length(bytes) "
    "AS before FROM (SELECT ctid, job, stream, first, bytes FROM evenpack_tokens "
    "WHERE job < 0 ORDER BY job, stream, first LIMIT $2::bigint) AS next) AS page "
    "WHERE before < $1::bigint)) RETURNING 1) SELECT count(*) FROM removed";

constexpr std::string_view kRemovedJob =
    "SELECT -job FROM evenpack_snapshots WHERE job < 0 AND NOT EXISTS "
    "(SELECT 1 FROM evenpack_jobs WHERE id = -job) ORDER BY job DESC LIMIT 1";

constexpr std::string_view kRecordsOfRemoved =
    "WITH removed AS (DELETE FROM evenpack_records WHERE ctid = ANY (ARRAY("
    "SELECT id FROM (SELECT ctid AS id, "
    "sum(octet_length(bytes)) OVER (ORDER BY place) - octet_length(bytes) AS before "
    "FROM (SELECT ctid, place, bytes FROM evenpack_records "
    "WHERE place >= $1::bigint AND place <= $2::bigint AND NOT EXISTS "
    "(SELECT 1 FROM evenpack_jobs WHERE id = $1::bigint >> 40) "
    "ORDER BY place LIMIT $4::bigint) AS next) AS page WHERE before < $3::bigint)) "
    "RETURNING 1) SELECT count(*) FROM removed";

constexpr std::string_view kTokensOfRemoved =
    "WITH removed AS (DELETE FROM evenpack_tokens WHERE ctid = ANY (ARRAY("
    "SELECT id FROM (SELECT ctid AS id, "
    "sum(octet_length(bytes)) OVER (ORDER BY stream, first) - octet_length(bytes) "
    "AS before FROM (SELECT ctid, stream, first, bytes FROM evenpack_tokens "
    "WHERE job = $1::bigint AND NOT EXISTS "
    "(SELECT 1 FROM evenpack_jobs WHERE id = $1::bigint) "
    "ORDER BY stream, first LIMIT $3::bigint) AS next) AS page "
    "WHERE before < $2::bigint)) RETURNING 1) SELECT count(*) FROM removed";

constexpr std::string_view kMark =
    "DELETE FROM evenpack_snapshots WHERE job = -$1::bigint";

absl::StatusOr<bool> RemovedAny(std::string_view statement, PostgresqlValues values,
                                PostgresqlConnection& connection) {
  // What a crash of the database brings back is removed again.
  connection.Queue("SELECT set_config('synchronous_commit', 'off', true)");
  connection.Queue(statement, std::move(values));
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection.Exchange();
  if (!rows.ok()) return rows.status();
  return rows->back().Integer(0, 0) > 0;
}

}  // namespace

absl::StatusOr<bool> RemoveCovered(int64_t job, uint64_t records,
                                   PostgresqlConnection& connection) {
  return RemovedAny(kCovered,
                    PostgresqlValues()
                        .Add(RecordPlace(job, 0))
                        .Add(RecordPlace(job, records))
                        .Add(kBatchBytes)
                        .Add(kBatchRows),
                    connection);
}

absl::StatusOr<bool> RemoveDropped(PostgresqlConnection& connection) {
  return RemovedAny(kDropped, PostgresqlValues().Add(kBatchBytes).Add(kBatchRows),
                    connection);
}

absl::StatusOr<bool> RemoveRemoved(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> found = connection.Ask(kRemovedJob);
  if (!found.ok()) return found.status();
  if (found->size() == 0) return false;
  const int64_t job = found->Integer(0, 0);
  absl::StatusOr<bool> any = RemovedAny(kRecordsOfRemoved,
                                        PostgresqlValues()
                                            .Add(RecordPlace(job, 0))
                                            .Add(LastRecordPlace(job))
                                            .Add(kBatchBytes)
                                            .Add(kBatchRows),
                                        connection);
  if (!any.ok() || *any) return any;
  any = RemovedAny(kTokensOfRemoved,
                   PostgresqlValues().Add(job).Add(kBatchBytes).Add(kBatchRows),
                   connection);
  if (!any.ok() || *any) return any;
  const absl::StatusOr<PostgresqlRows> mark =
      connection.Ask(kMark, PostgresqlValues().Add(job));
  if (!mark.ok()) return mark.status();
  return true;
}

}  // namespace evenpack
