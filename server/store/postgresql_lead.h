// What a server leads of a store in PostgreSQL: postgresql_schema.h says by which
// rules.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Not thread-safe. Errors as PostgresqlConnection's; ABORTED once another server leads.
class PostgresqlLead {
 public:
  // What each server leads that leads the list of jobs and the cost profiles.
  static constexpr int64_t kRoot = 0;

  // `server`: a name that no other process has or has had.
  explicit PostgresqlLead(std::string server) : server_(std::move(server)) {}

  // Takes what nobody leads. False where another leads the root.
  absl::StatusOr<bool> TryTake(PostgresqlConnection& connection);
  // On a new connection of one that leads: from here on nothing of the old one can be
  // committed. False where another leads by now.
  absl::StatusOr<bool> Rejoin(PostgresqlConnection& connection);
  // Not to be taken for dead.
  absl::Status Renew(PostgresqlConnection& connection);
  // Others need not wait until it expires.
  absl::Status Release(PostgresqlConnection& connection);

  // To be queued first in a transaction that writes these jobs; returns its number.
  int64_t QueueFence(const std::set<int64_t>& jobs, PostgresqlConnection& connection);
  // To be queued in a transaction that makes or removes a job, which fences the root.
  void QueueAdd(int64_t job, PostgresqlConnection& connection);
  static void QueueRemove(int64_t job, PostgresqlConnection& connection);
  // When such a transaction stands.
  void Added(int64_t job) { epochs_[job] = kFirstEpoch; }
  void Removed(int64_t job) { epochs_.erase(job); }
  // Whether the transaction of that number, the last that was fenced, stands. After
  // Rejoin, or once another leads.
  absl::StatusOr<bool> IsCommitted(int64_t number, PostgresqlConnection& connection);

 private:
  static constexpr int64_t kFirstEpoch = 1;

  void QueueFence(int64_t number, const std::set<int64_t>& jobs,
                  PostgresqlConnection& connection) const;
  absl::Status ReadEpochs(PostgresqlConnection& connection);

  const std::string server_;
  // Of what this server leads.
  std::map<int64_t, int64_t> epochs_;
  int64_t last_number_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_
