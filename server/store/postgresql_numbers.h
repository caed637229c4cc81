// Numbers of jobs that are made in a store in PostgreSQL.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_NUMBERS_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// So many that no job has or had; in order. ALREADY_EXISTS: a job has one of `names`,
// and no number was used up. RESOURCE_EXHAUSTED: there are no more.
absl::StatusOr<std::vector<int64_t>> NewJobNumbers(
    size_t count, std::span<const std::string_view> names,
    PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_NUMBERS_H_
