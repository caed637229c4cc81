// Who leads which job of a store in PostgreSQL.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_PLACES_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_PLACES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/postgresql_connection.h"
#include "server/store/shared_store.h"

namespace evenpack {

// As server `here` sees it. NOT_FOUND: no such job.
absl::StatusOr<JobPlace> FindPlace(const std::string& here, const std::string& job,
                                   PostgresqlConnection& connection);

// At most `most` jobs, by name, whose names are above `after`: by their bytes, whatever
// the database's order of texts is.
absl::StatusOr<std::vector<JobPlace>> FindPlaces(const std::string& here,
                                                 const std::string& after, size_t most,
                                                 PostgresqlConnection& connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_PLACES_H_
