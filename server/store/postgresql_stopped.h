// Transactions of servers that stopped in their midst: a process that is stopped, or
// whose connection hangs behind a proxy that keeps it open. PostgreSQL waits for the
// rest of them, by none of its time limits, and what they have locked nobody else can
// take (docs/adr/0134).
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_STOPPED_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_STOPPED_H_

#include <chrono>
#include <cstdint>

#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Ends the connections whose transaction has locked a server's row and of which nothing
// came for `silence`, while PostgreSQL waits for that: how many. What they had under
// way is rolled back. FAILED_PRECONDITION: they are another user's, whose connections
// this one may not end.
absl::StatusOr<int64_t> EndStoppedTransactions(std::chrono::milliseconds silence,
                                               PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_STOPPED_H_
