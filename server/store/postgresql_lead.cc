#include "server/store/postgresql_lead.h"

#include <vector>

namespace evenpack {
namespace {

// How long a server may be silent before others take what it leads. Renewals come three
// times as often (postgresql_store.cc), and a server that has died is followed by
// another within five seconds.
constexpr int64_t kLeaseMilliseconds = 3000;

}  // namespace

absl::StatusOr<bool> PostgresqlLead::TryTake(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> taken =
      connection.Ask("SELECT evenpack_take($1::text, $2::bigint)",
                     PostgresqlValues().Add(server_).Add(kLeaseMilliseconds));
  if (!taken.ok()) return taken.status();
  if (absl::Status status = ReadEpochs(connection); !status.ok()) return status;
  return epochs_.contains(kRoot);
}

absl::StatusOr<bool> PostgresqlLead::Rejoin(PostgresqlConnection& connection) {
  // The name is this process's alone: who has it still was never replaced.
  if (absl::Status status = ReadEpochs(connection); !status.ok()) return status;
  if (!epochs_.contains(kRoot)) return false;
  const absl::StatusOr<PostgresqlRows> joined = connection.Ask(
      "SELECT evenpack_rejoin($1::text, $2::bigint, $3::bigint)",
      PostgresqlValues().Add(server_).Add(kLeaseMilliseconds).Add(epochs_.at(kRoot)));
  if (!joined.ok()) return joined.status();
  const int64_t before = epochs_.at(kRoot);
  if (absl::Status status = ReadEpochs(connection); !status.ok()) return status;
  if (!epochs_.contains(kRoot)) return false;
  if (epochs_.at(kRoot) == before + 1) return true;
  return absl::UnavailableError("store: an earlier attempt to connect came between");
}

absl::Status PostgresqlLead::Renew(PostgresqlConnection& connection) {
  connection.Queue("BEGIN");
  // A renewal that a crash of the database takes back only lets the lease expire
  // sooner.
  connection.Queue("SET LOCAL synchronous_commit = off");
  QueueFence(0, {kRoot}, connection);
  connection.Queue("COMMIT");
  absl::Status status = connection.Exchange().status();
  if (!status.ok() && !connection.broken()) connection.Run("ROLLBACK").IgnoreError();
  return status;
}

absl::Status PostgresqlLead::Release(PostgresqlConnection& connection) {
  epochs_.clear();
  connection.Queue("BEGIN");
  connection.Queue("DELETE FROM evenpack_servers WHERE server = $1::text",
                   PostgresqlValues().Add(server_));
  connection.Queue("UPDATE evenpack_leases SET server = '' WHERE server = $1::text",
                   PostgresqlValues().Add(server_));
  connection.Queue("COMMIT");
  return connection.Exchange().status();
}

int64_t PostgresqlLead::QueueFence(const std::set<int64_t>& jobs,
                                   PostgresqlConnection& connection) {
  QueueFence(++last_number_, jobs, connection);
  return last_number_;
}

void PostgresqlLead::QueueFence(int64_t number, const std::set<int64_t>& jobs,
                                PostgresqlConnection& connection) const {
  std::vector<int64_t> wanted;
  std::vector<int64_t> epochs;
  for (const int64_t job : jobs) {
    const auto found = epochs_.find(job);
    wanted.push_back(job);
    // No lease has an epoch below 0: what this server doesn't lead is refused.
    epochs.push_back(found == epochs_.end() ? -1 : found->second);
  }
  connection.Queue(
      "SELECT evenpack_fence($1::text, $2::bigint, $3::bigint, $4::bigint[], "
      "$5::bigint[])",
      PostgresqlValues()
          .Add(server_)
          .Add(number)
          .Add(kLeaseMilliseconds)
          .Add(std::span<const int64_t>(wanted))
          .Add(std::span<const int64_t>(epochs)));
}

void PostgresqlLead::QueueAdd(int64_t job, PostgresqlConnection& connection) {
  connection.Queue(
      "INSERT INTO evenpack_leases VALUES ($1::bigint, $2::text, $3::bigint)",
      PostgresqlValues().Add(job).Add(server_).Add(kFirstEpoch));
}

void PostgresqlLead::QueueRemove(int64_t job, PostgresqlConnection& connection) {
  connection.Queue("DELETE FROM evenpack_leases WHERE job = $1::bigint",
                   PostgresqlValues().Add(job));
}

absl::StatusOr<bool> PostgresqlLead::IsCommitted(int64_t number,
                                                 PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> row =
      connection.Ask("SELECT commits FROM evenpack_servers WHERE server = $1::text",
                     PostgresqlValues().Add(server_));
  if (!row.ok()) return row.status();
  return row->size() == 1 && row->Integer(0, 0) >= number;
}

absl::Status PostgresqlLead::ReadEpochs(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> rows =
      connection.Ask("SELECT job, epoch FROM evenpack_leases WHERE server = $1::text",
                     PostgresqlValues().Add(server_));
  if (!rows.ok()) return rows.status();
  epochs_.clear();
  for (int row = 0; row < rows->size(); ++row) {
    epochs_[rows->Integer(row, 0)] = rows->Integer(row, 1);
  }
  return absl::OkStatus();
}

}  // namespace evenpack
