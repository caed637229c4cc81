// What a store in PostgreSQL holds, read and checked row by row.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_transaction.h"
#include "server/store/state_store.h"

namespace evenpack {

// The jobs by name. One whose row is damaged says so.
absl::StatusOr<PostgresqlJobs> LoadJobs(PostgresqlConnection& connection);

// DATA_LOSS names the snapshot, the record or the tokens.
absl::StatusOr<StoredJob> LoadJob(const std::string& name, const PostgresqlJob& job,
                                  PostgresqlConnection& connection);

absl::StatusOr<StoredProfiles> LoadProfiles(PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LOAD_H_
