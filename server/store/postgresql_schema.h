// The tables of a store in PostgreSQL, in the first schema of the connection's search
// path. What is in them is what a SQLite file has (sqlite_schema.h), byte for byte:
//
//   evenpack_format     the version of all this
//   evenpack_jobs       id, name
//   evenpack_snapshots  job -> the state after so many records, as bytes
//   evenpack_records    place = job * 2^40 + number -> the record, as bytes
//   evenpack_profiles   name -> a cost profile, as bytes
//   evenpack_tokens     job, stream, number of the first document -> tokens, as bytes
//
// and who may write it:
//
//   evenpack_servers    server -> until when it lives, and its last commit's number
//   evenpack_leases     job -> the server that leads it, and in which epoch; job 0 is
//   the
//                       list of jobs and the cost profiles
//
// Every row but those of the last two has a checksum over itself: stored_row.h.
//
// A server leads a job while the lease names it; it may be replaced once it has not
// been heard of until its row of evenpack_servers expires, by the database's clock.
// Whoever takes a lease raises its epoch. Each transaction that writes calls
// evenpack_fence first, which locks the server's row and the leases until the
// transaction ends, and refuses it where one of the epochs is another: a server that
// slept can write nothing, and a lease is not taken from under a transaction that has
// passed.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Of the newest format that this program writes and reads.
inline constexpr int64_t kPostgresqlFormatVersion = 1;

// Makes commits of the connection durable and its statements bounded in time, and
// creates the tables. FAILED_PRECONDITION: the tables are another program's, or of a
// newer format.
absl::Status PreparePostgresql(PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_
