// What a store in PostgreSQL needs no longer: records that a snapshot covers, what was
// of jobs that are removed, tokens that were dropped. A commit only makes it so that
// nobody reads them; they go later and little by little, by statements that are short
// however much there is (docs/adr/0135).
//
// Rows of evenpack_snapshots and evenpack_tokens whose job is below 0 are such: the
// snapshot's says that job -job was removed, and goes last.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_LEFTOVERS_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_LEFTOVERS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// $1: a job that is removed, in the transaction that removes its row; both statements.
inline constexpr std::string_view kLeaveSnapshot =
    "UPDATE evenpack_snapshots SET job = -job WHERE job = $1::bigint";
inline constexpr std::string_view kLeaveJob =
    "INSERT INTO evenpack_snapshots VALUES (-$1::bigint, 0, '', '') "
    "ON CONFLICT (job) DO NOTHING";
// Of job $1 and stream $2 what is below $3. The transaction's number keeps apart what
// was put and dropped twice; jobs have less than 23 bits (stored_row.h).
inline constexpr std::string_view kLeaveTokens =
    "UPDATE evenpack_tokens "
    "SET job = -(job | (txid_current() << 23)) "
    "WHERE job = $1::bigint AND stream = $2::bigint AND first < $3::bigint";

// Each removes a batch of rows, of a few MiB or one row, and says whether more may be
// left. Whoever calls it, and at any time: what is needed stays.

// Of the records of a job that its snapshot covers, those below `records`: as many as
// the caller knows that a whole snapshot has.
absl::StatusOr<bool> RemoveCovered(int64_t job, uint64_t records,
                                   PostgresqlConnection& connection);
// Tokens that were dropped.
absl::StatusOr<bool> RemoveDropped(PostgresqlConnection& connection);
// What was of a removed job.
absl::StatusOr<bool> RemoveRemoved(PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_LEFTOVERS_H_
