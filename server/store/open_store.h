// A store by the name that a flag gives it.
#ifndef EVENPACK_SERVER_STORE_OPEN_STORE_H_
#define EVENPACK_SERVER_STORE_OPEN_STORE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/state_store.h"

namespace evenpack {

// INVALID_ARGUMENT unless `name` is "memory" or "sqlite:PATH", or as PostgresqlTarget.
absl::Status CheckStoreName(const std::string& name);

// As CheckStoreName, SqliteStore::Open and PostgresqlStore::Open.
absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(const std::string& name);

// What of a name that CheckStoreName accepts can be told to anybody: all but passwords.
std::string ShownStoreName(const std::string& name);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_OPEN_STORE_H_
