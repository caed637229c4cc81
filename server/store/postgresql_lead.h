// A server among those that share a store in PostgreSQL: postgresql_schema.h says by
// which rules.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Not thread-safe. Errors as PostgresqlConnection's.
class PostgresqlLead {
 public:
  // `server`: a name that no other process has or has had. `lease`: how long it may be
  // silent before others take what it leads.
  PostgresqlLead(std::string server, std::chrono::milliseconds lease)
      : server_(std::move(server)), milliseconds_(lease.count()) {}

  const std::string& server() const { return server_; }
  bool joined() const { return joined_; }

  // On the first connection: from here on this server lives, and takes jobs.
  absl::Status Join(const std::string& address, PostgresqlConnection& connection);
  // On a new connection of one that has joined: waits for what the old one had under
  // way, and lets nothing of it come later. NOT_FOUND: it was forgotten.
  absl::Status Rejoin(PostgresqlConnection& connection);
  // It takes no jobs any more, nor is given any: once the database knows, or from the
  // next Rejoin on.
  absl::Status Leave(PostgresqlConnection& connection);
  void LeaveLater() { takes_ = false; }
  // Likewise, but only for as long as `aside`.
  absl::Status StandAside(bool aside, PostgresqlConnection& connection);
  bool aside() const { return aside_; }
  // It leads nothing any more, for which others need not wait until its lease expires.
  absl::Status Release(PostgresqlConnection& connection);

  // Alone: not to be taken for dead.
  void QueueRenewal(PostgresqlConnection& connection) const;
  // Alone: takes at most so many jobs that nobody leads.
  void QueueClaim(int64_t most, PostgresqlConnection& connection) const;
  // First in a transaction that writes the jobs of these numbers in these epochs;
  // returns the transaction's number.
  int64_t QueueEnter(const std::map<int64_t, int64_t>& epochs,
                     PostgresqlConnection& connection);
  // Behind that, of a job that it names: gives it to the server that leads the fewest.
  // A row with its address, or none where there is no other server.
  void QueueGive(int64_t job, PostgresqlConnection& connection) const;
  // Behind what took long: it lived until then.
  void QueueSign(PostgresqlConnection& connection) const {
    QueueEnter(0, {}, connection);
  }
  // Last. What was committed is told: its answer must not be cut off by a time limit,
  // since PostgreSQL then says that it stands when no standby has it yet.
  static void QueueCommit(PostgresqlConnection& connection);

  // Whether the transaction of that number, the last that entered, stands. After
  // Rejoin.
  absl::StatusOr<bool> IsCommitted(int64_t number, PostgresqlConnection& connection);

 private:
  void QueueEnter(int64_t number, const std::map<int64_t, int64_t>& epochs,
                  PostgresqlConnection& connection) const;

  const std::string server_;
  const int64_t milliseconds_;
  bool joined_ = false;
  bool takes_ = true;
  bool aside_ = false;
  // Of connections, each attempt's above those before: one that comes late changes
  // nothing.
  int64_t session_ = 0;
  int64_t last_number_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LEAD_H_
