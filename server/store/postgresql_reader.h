// A connection to PostgreSQL for reads alone, so that no commit waits for them.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_READER_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_READER_H_

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/runtime/mutex.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {

// Thread-safe; one read at a time.
class PostgresqlReader {
 public:
  // `target`: as PostgresqlTarget gives it. Connects when first read from.
  PostgresqlReader(std::string target, std::chrono::milliseconds patience)
      : target_(std::move(target)), patience_(patience) {}

  // What `read` returns, or why there is no connection. On one that turns out to be
  // lost it is called again, once, on a new one.
  absl::Status Read(absl::FunctionRef<absl::Status(PostgresqlConnection&)> read);
  // From the next read on there is a new connection: where another database has taken
  // over, the old one may still answer. Waits for no read.
  void Renew() { outdated_ = true; }
  void Close();

 private:
  absl::Status Connect() EVENPACK_REQUIRES(mutex_);

  const std::string target_;
  const std::chrono::milliseconds patience_;
  std::atomic<bool> outdated_ = false;
  Mutex mutex_;
  std::optional<PostgresqlConnection> connection_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_READER_H_
