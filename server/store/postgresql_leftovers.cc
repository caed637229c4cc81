#include "server/store/postgresql_leftovers.h"

#include <string>
#include <utility>
#include <vector>

#include "server/store/postgresql_page.h"
#include "server/store/stored_row.h"

namespace evenpack {
namespace {

constexpr std::string_view kRemovedJob =
    "SELECT -job FROM evenpack_snapshots WHERE job < 0 AND NOT EXISTS "
    "(SELECT 1 FROM evenpack_jobs WHERE id = -job) ORDER BY job DESC LIMIT 1";

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
  // The database may have gone back behind what the caller knows: what the snapshot
  // doesn't cover stays.
  static const std::string& statement = *new std::string(DeletePage(
      {.table = "evenpack_records",
       .order = "place",
       .where =
           "place >= $1::bigint AND place < $2::bigint AND place < $1::bigint + "
           "(SELECT records FROM evenpack_snapshots WHERE job = $1::bigint >> 40)"}));
  return RemovedAny(
      statement,
      PostgresqlValues().Add(RecordPlace(job, 0)).Add(RecordPlace(job, records)),
      connection);
}

absl::StatusOr<bool> RemoveDropped(PostgresqlConnection& connection) {
  static const std::string& statement = *new std::string(DeletePage(
      {.table = "evenpack_tokens", .order = "job, stream, first", .where = "job < 0"}));
  return RemovedAny(statement, {}, connection);
}

absl::StatusOr<bool> RemoveRemoved(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> found = connection.Ask(kRemovedJob);
  if (!found.ok()) return found.status();
  if (found->size() == 0) return false;
  const int64_t job = found->Integer(0, 0);
  static const std::string& records = *new std::string(DeletePage(
      {.table = "evenpack_records",
       .order = "place",
       .where = "place >= $1::bigint AND place <= $2::bigint AND NOT EXISTS "
                "(SELECT 1 FROM evenpack_jobs WHERE id = $1::bigint >> 40)"}));
  absl::StatusOr<bool> any = RemovedAny(
      records, PostgresqlValues().Add(RecordPlace(job, 0)).Add(LastRecordPlace(job)),
      connection);
  if (!any.ok() || *any) return any;
  static const std::string& tokens = *new std::string(
      DeletePage({.table = "evenpack_tokens",
                  .order = "stream, first",
                  .where = "job = $1::bigint AND NOT EXISTS "
                           "(SELECT 1 FROM evenpack_jobs WHERE id = $1::bigint)"}));
  any = RemovedAny(tokens, PostgresqlValues().Add(job), connection);
  if (!any.ok() || *any) return any;
  const absl::StatusOr<PostgresqlRows> mark =
      connection.Ask(kMark, PostgresqlValues().Add(job));
  if (!mark.ok()) return mark.status();
  return true;
}

}  // namespace evenpack
