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
// Rows of snapshots and tokens whose job is below 0 are what is to be removed
// (postgresql_leftovers.h). And who may write it:
//
//   evenpack_servers          server -> until when it lives, where clients reach it,
//                             whether it takes jobs, its connection's number and its
//                             last commit's
//   evenpack_leases           job -> the server that leads it ('': none), and in which
//                             epoch
//   evenpack_profile_changes  how often cost profiles were changed
//   evenpack_places           a view: job's name -> who leads it, and where that is
//
// Every row of jobs and profiles has a checksum over itself: stored_row.h.
//
// A server leads a job while the lease names it; others may take it once the server has
// not been heard of until its row of evenpack_servers expires, by the database's clock.
// Whoever takes or gives a lease raises its epoch. Each transaction that writes calls
// evenpack_enter first, which locks the server's row and the leases until the
// transaction ends. It refuses the transaction where one of the epochs is another
// (EV001): a server that slept can't write what it leads no more, and a lease is not
// taken from under a transaction that has passed. It refuses it also where the server's
// connection is not its newest, or its row is gone (EV002): what an old connection left
// under way can't come late.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Without a sign of the database for so long a connection counts as lost; above the
// time that the session lets a statement take.
inline constexpr std::chrono::milliseconds kPostgresqlPatience{8000};

// What the session lets a statement take, unless it is told otherwise.
inline constexpr std::chrono::milliseconds kPostgresqlStatementTime{5000};

// Of the newest format that this program writes and reads.
inline constexpr int64_t kPostgresqlFormatVersion = 2;

// Makes commits of the connection durable and its statements bounded in time.
absl::Status SetUpPostgresqlSession(PostgresqlConnection& connection);

// Besides, creates the tables, or brings those of an older format to this one: servers
// of that can write nothing from then on. FAILED_PRECONDITION: the tables are another
// program's, or of a newer format.
absl::Status PreparePostgresql(PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_SCHEMA_H_
