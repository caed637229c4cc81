#include "server/store/postgresql_look.h"

#include <map>
#include <utility>

#include "server/store/postgresql_load.h"

namespace evenpack {
namespace {

// Of the numbers that kServers gives.
constexpr int64_t kLives = 1;
constexpr int64_t kTakes = 2;

// A row for each server, and one for what nobody leads: its leases are read once,
// however many there are.
constexpr std::string_view kLook =
    "SELECT coalesce(servers.server, ''), "
    "CASE WHEN expires <= clock_timestamp() THEN 0 WHEN takes THEN 3 "
    "WHEN expires IS NULL THEN 0 ELSE 1 END::bigint, "
    "coalesce(jobs, 0), coalesce(hash, 0), "
    "(SELECT version FROM evenpack_profile_changes) "
    "FROM evenpack_servers AS servers FULL JOIN ("
    "SELECT server, count(*) AS jobs, "
    "(sum(hashint8extended(job, epoch)) % 9223372036854775807)::bigint AS hash "
    "FROM evenpack_leases GROUP BY server) AS leases "
    "ON leases.server = servers.server "
    "WHERE servers.server IS NOT NULL OR leases.server = '' ORDER BY 1";

}  // namespace

void QueueLook(PostgresqlConnection& connection) { connection.Queue(kLook); }

PostgresqlLook TakeLook(const std::string& server, const PostgresqlRows& rows) {
  PostgresqlLook look;
  for (int row = 0; row < rows.size(); ++row) {
    const int64_t state = rows.Integer(row, 1);
    look.servers.push_back({.server = std::string(rows.Bytes(row, 0)),
                            .lives = (state & kLives) != 0,
                            .takes = (state & kTakes) != 0,
                            .jobs = rows.Integer(row, 2)});
    if (rows.Bytes(row, 0) == server) look.fingerprint = rows.Integer(row, 3);
    look.profile_changes = rows.Integer(row, 4);
  }
  return look;
}

absl::StatusOr<PostgresqlJobs> FindLedJobs(const std::string& server,
                                           const PostgresqlJobs& known,
                                           PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> leases =
      connection.Ask("SELECT job, epoch FROM evenpack_leases WHERE server = $1::text",
                     PostgresqlValues().Add(server));
  if (!leases.ok()) return leases.status();
  std::map<std::pair<int64_t, int64_t>, PostgresqlJobs::const_iterator> known_leases;
  for (auto job = known.begin(); job != known.end(); ++job) {
    known_leases[{job->second.id, job->second.epoch}] = job;
  }
  PostgresqlJobs jobs;
  std::vector<int64_t> unknown;
  for (int row = 0; row < leases->size(); ++row) {
    const auto found =
        known_leases.find({leases->Integer(row, 0), leases->Integer(row, 1)});
    if (found == known_leases.end()) {
      unknown.push_back(leases->Integer(row, 0));
    } else {
      jobs.insert(*found->second);
    }
  }
  if (unknown.empty()) return jobs;
  absl::StatusOr<PostgresqlJobs> read = LoadJobs(server, unknown, connection);
  if (!read.ok()) return read.status();
  jobs.merge(*read);
  return jobs;
}

}  // namespace evenpack
