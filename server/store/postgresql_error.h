// What an error of PostgreSQL means to a store.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_ERROR_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace evenpack {

// By its SQLSTATE (PostgreSQL's documentation, appendix A). RESOURCE_EXHAUSTED: the
// disk is full. DATA_LOSS: data is damaged. Of PostgresqlConnection: ABORTED kFenced,
// NOT_FOUND kForgotten, ALREADY_EXISTS kNameTaken. FAILED_PRECONDITION: the database
// will refuse it again. UNAVAILABLE anything else: trying again may help.
absl::Status PostgresqlError(std::string_view sqlstate, std::string_view message);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_ERROR_H_
