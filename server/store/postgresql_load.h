// What a store in PostgreSQL holds, read and checked row by row.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/led_jobs.h"
#include "server/store/postgresql_connection.h"
#include "server/store/state_store.h"

namespace evenpack {

// Of these jobs those that `server` leads, by name. One whose row is damaged says so.
absl::StatusOr<PostgresqlJobs> LoadJobs(const std::string& server,
                                        std::span<const int64_t> ids,
                                        PostgresqlConnection& connection);

// A job as one moment has it, and under which lease. Read in pages, so that no
// statement takes long, however large it is.
struct LoadedJob {
  int64_t id = 0;
  int64_t epoch = 0;
  // DATA_LOSS names the snapshot, the record or the tokens.
  absl::StatusOr<StoredJob> job;
};

// NOT_FOUND: no such job. ABORTED: `server` doesn't lead it. After an error a
// transaction is to be rolled back.
absl::StatusOr<LoadedJob> LoadJob(const std::string& server, const std::string& name,
                                  PostgresqlConnection& connection);

absl::StatusOr<StoredProfiles> LoadProfiles(PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_
