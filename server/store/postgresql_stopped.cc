#include "server/store/postgresql_stopped.h"

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

// query_start is when the last message came whole. What PostgreSQL carries out, or what
// waits for a lock, waits for no client.
constexpr std::string_view kEnd =
    "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND wait_event_type = 'Client' "
    "AND query_start < clock_timestamp() - $1::bigint * interval '1 millisecond' "
    "AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'relation' AND granted "
    "AND relation = 'evenpack_servers'::regclass AND mode = 'RowExclusiveLock')";

}  // namespace

absl::StatusOr<int64_t> EndStoppedTransactions(std::chrono::milliseconds silence,
                                               PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> rows =
      connection.Ask(kEnd, PostgresqlValues().Add(int64_t{silence.count()}));
  if (!rows.ok()) return rows.status();
  const int64_t ended = rows->Integer(0, 0);
  if (ended > 0) {
    Log(LogLevel::kWarning, "stopped transactions ended",
        {{"transactions", absl::StrCat(ended)}});
  }
  return ended;
}

}  // namespace evenpack
