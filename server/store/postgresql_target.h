// Which database a store's name means.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_TARGET_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_TARGET_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace evenpack {

// What libpq takes: a postgresql:// or postgres:// URI, or "host=... dbname=...".
// `name` is the URI itself, or either form behind "postgresql:". INVALID_ARGUMENT,
// without any of it in the message, since it may hold a password.
absl::StatusOr<std::string> PostgresqlTarget(std::string_view name);

// The host, port, database and user of a target, for logs.
std::string ShownTarget(const std::string& target);

using PostgresqlParameters = std::vector<std::pair<std::string, std::string>>;

// What is given to libpq: the target, and what it leaves out of time limits, so that a
// database that is gone is noticed within seconds.
PostgresqlParameters ConnectionParameters(const std::string& target);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_TARGET_H_
