#include "server/store/postgresql_lead.h"

#include <span>
#include <vector>

namespace evenpack {

absl::Status PostgresqlLead::Join(const std::string& address,
                                  PostgresqlConnection& connection) {
  const absl::Status status =
      connection
          .Ask(
              "INSERT INTO evenpack_servers (server, expires, commits, session, "
              "address, takes) VALUES ($1::text, clock_timestamp() + $2::bigint * "
              "interval '1 millisecond', 0, $3::bigint, $4::text, true) "
              "ON CONFLICT (server) DO UPDATE SET expires = excluded.expires, "
              "session = excluded.session "
              "WHERE evenpack_servers.session < excluded.session",
              PostgresqlValues()
                  .Add(server_)
                  .Add(milliseconds_)
                  .Add(++session_)
                  .Add(address))
          .status();
  joined_ = status.ok();
  return status;
}

absl::Status PostgresqlLead::Rejoin(PostgresqlConnection& connection) {
  connection.Queue("BEGIN");
  connection.Queue(
      "UPDATE evenpack_servers SET session = $2::bigint, takes = $3::bigint = 1, "
      "heard_since = clock_timestamp(), "
      "expires = clock_timestamp() + $4::bigint * interval '1 millisecond' "
      "WHERE server = $1::text AND session < $2::bigint RETURNING session",
      PostgresqlValues()
          .Add(server_)
          .Add(++session_)
          .Add(int64_t{takes_ && !aside_ ? 1 : 0})
          .Add(milliseconds_));
  QueueCommit(connection);
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection.Exchange();
  if (!rows.ok()) return rows.status();
  if ((*rows)[1].size() == 1) return absl::OkStatus();
  return absl::NotFoundError("store: the database has forgotten this server");
}

absl::Status PostgresqlLead::Leave(PostgresqlConnection& connection) {
  takes_ = false;
  connection.Queue("BEGIN");
  // A lock that those wait for who are about to give it a job.
  connection.Queue("SELECT 1 FROM evenpack_servers WHERE server = $1::text FOR UPDATE",
                   PostgresqlValues().Add(server_));
  connection.Queue("UPDATE evenpack_servers SET takes = false WHERE server = $1::text",
                   PostgresqlValues().Add(server_));
  QueueCommit(connection);
  return connection.Exchange().status();
}

absl::Status PostgresqlLead::StandAside(bool aside, PostgresqlConnection& connection) {
  if (!takes_ || aside == aside_) return absl::OkStatus();
  const absl::Status status =
      connection
          .Ask(
              "UPDATE evenpack_servers SET takes = $2::bigint = 1 "
              "WHERE server = $1::text",
              PostgresqlValues().Add(server_).Add(int64_t{aside ? 0 : 1}))
          .status();
  if (status.ok()) aside_ = aside;
  return status;
}

absl::Status PostgresqlLead::Release(PostgresqlConnection& connection) {
  joined_ = false;
  connection.Queue("BEGIN");
  // Whoever gives it a job has done so by then, or finds it gone.
  connection.Queue("SELECT 1 FROM evenpack_servers WHERE server = $1::text FOR UPDATE",
                   PostgresqlValues().Add(server_));
  connection.Queue("UPDATE evenpack_leases SET server = '' WHERE server = $1::text",
                   PostgresqlValues().Add(server_));
  connection.Queue("DELETE FROM evenpack_servers WHERE server = $1::text",
                   PostgresqlValues().Add(server_));
  connection.Queue("COMMIT");
  return connection.Exchange().status();
}

void PostgresqlLead::QueueRenewal(PostgresqlConnection& connection) const {
  // One that a crash of the database takes back only lets the lease expire sooner.
  connection.Queue("SELECT set_config('synchronous_commit', 'off', true)");
  QueueEnter(0, {}, connection);
}

void PostgresqlLead::QueueClaim(int64_t most, PostgresqlConnection& connection) const {
  connection.Queue("BEGIN");
  // The database's clock may have been set back since: for as long as it was in the
  // time to come that this server was silent, it would take nothing of the dead.
  connection.Queue(
      "UPDATE evenpack_servers SET heard_since = clock_timestamp() "
      "WHERE server = $1::text AND heard_since > clock_timestamp()",
      PostgresqlValues().Add(server_));
  connection.Queue(
      "SELECT evenpack_claim($1::text, $2::bigint, $3::bigint, $4::bigint)",
      PostgresqlValues().Add(server_).Add(session_).Add(milliseconds_).Add(most));
  QueueCommit(connection);
}

int64_t PostgresqlLead::QueueEnter(const std::map<int64_t, int64_t>& epochs,
                                   PostgresqlConnection& connection) {
  QueueEnter(++last_number_, epochs, connection);
  return last_number_;
}

void PostgresqlLead::QueueEnter(int64_t number,
                                const std::map<int64_t, int64_t>& epochs,
                                PostgresqlConnection& connection) const {
  std::vector<int64_t> wanted;
  std::vector<int64_t> wanted_epochs;
  for (const auto& [job, epoch] : epochs) {
    wanted.push_back(job);
    wanted_epochs.push_back(epoch);
  }
  connection.Queue(
      "SELECT evenpack_enter($1::text, $2::bigint, $3::bigint, $4::bigint, "
      "$5::bigint[], $6::bigint[])",
      PostgresqlValues()
          .Add(server_)
          .Add(session_)
          .Add(number)
          .Add(milliseconds_)
          .Add(std::span<const int64_t>(wanted))
          .Add(std::span<const int64_t>(wanted_epochs)));
}

void PostgresqlLead::QueueGive(int64_t job, PostgresqlConnection& connection) const {
  connection.Queue("SELECT evenpack_give($1::text, $2::bigint)",
                   PostgresqlValues().Add(server_).Add(job));
}

void PostgresqlLead::QueueCommit(PostgresqlConnection& connection) {
  connection.Queue("SET LOCAL statement_timeout = 0");
  connection.Queue("COMMIT");
}

absl::StatusOr<bool> PostgresqlLead::IsCommitted(int64_t number,
                                                 PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> row =
      connection.Ask("SELECT commits FROM evenpack_servers WHERE server = $1::text",
                     PostgresqlValues().Add(server_));
  if (!row.ok()) return row.status();
  return row->size() == 1 && row->Integer(0, 0) >= number;
}

}  // namespace evenpack
