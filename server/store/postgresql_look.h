// What a server sees of a store in PostgreSQL when it looks whether jobs have moved.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LOOK_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LOOK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/lease_share.h"
#include "server/store/led_jobs.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

struct PostgresqlLook {
  std::vector<ServerLoad> servers;
  // Of what the server leads: another where that is other jobs, or in other epochs.
  int64_t fingerprint = 0;
  // How often cost profiles were changed; falls where the database went back.
  int64_t profile_changes = 0;
};

// One statement, and what its answer means to `server`, which is among those that share
// the store.
void QueueLook(PostgresqlConnection& connection);
PostgresqlLook TakeLook(const std::string& server, const PostgresqlRows& rows);

// What `server` leads. Of jobs that are `known` in the same epoch nothing is read anew.
absl::StatusOr<PostgresqlJobs> FindLedJobs(const std::string& server,
                                           const PostgresqlJobs& known,
                                           PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LOOK_H_
