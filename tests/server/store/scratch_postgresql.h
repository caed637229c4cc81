// A schema of a test's own in the PostgreSQL server that ctest has started.
#ifndef EVENPACK_TESTS_SERVER_STORE_SCRATCH_POSTGRESQL_H_
#define EVENPACK_TESTS_SERVER_STORE_SCRATCH_POSTGRESQL_H_

#include <string>

#include "server/store/postgresql_connection.h"

namespace evenpack::testing {

// An empty schema, which goes with it.
class ScratchPostgresql {
 public:
  ScratchPostgresql();
  ~ScratchPostgresql();
  ScratchPostgresql(const ScratchPostgresql&) = delete;
  ScratchPostgresql& operator=(const ScratchPostgresql&) = delete;

  // The server's URI, and what makes connections see the schema first.
  std::string target() const { return target_; }
  // The same at another port of this machine.
  std::string TargetAt(int port) const;
  int port() const;
  // A connection that sees the schema.
  PostgresqlConnection Connect() const;
  // Statements by one; must succeed.
  void Run(const std::string& statements) const;
  // The number that a statement gives.
  int64_t Number(const std::string& statement) const;

 private:
  std::string server_;
  std::string schema_;
  std::string target_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_SCRATCH_POSTGRESQL_H_
