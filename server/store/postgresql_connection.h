// A connection to PostgreSQL, by libpq, with owners and statuses: statements are
// prepared once and many of them go in one round trip.
//
//   connection.Queue("SELECT bytes FROM t WHERE id = $1::bigint",
//                    PostgresqlValues().Add(int64_t{7}));
//   auto rows = connection.Exchange();  // of each statement queued, in order
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_CONNECTION_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct pg_conn;
struct pg_result;

namespace evenpack {

// The parameters of a statement, $1 and so on, in PostgreSQL's binary form.
class PostgresqlValues {
 public:
  // A bigint.
  PostgresqlValues& Add(int64_t value);
  // A bytea, or a text.
  PostgresqlValues& Add(std::string_view bytes);
  // A bigint[].
  PostgresqlValues& Add(std::span<const int64_t> values);
  // A bytea[].
  PostgresqlValues& Add(std::span<const std::string_view> values);

 private:
  friend class PostgresqlConnection;
  std::vector<std::string> values_;
};

// What a statement gave. Rows and columns count from 0.
class PostgresqlRows {
 public:
  int size() const;
  // Of a bigint.
  int64_t Integer(int row, int column) const;
  // Of a bytea or a text; lives as long as the rows.
  std::string_view Bytes(int row, int column) const;

 private:
  friend class PostgresqlConnection;
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// Not thread-safe. Errors: RESOURCE_EXHAUSTED the database's disk is full; DATA_LOSS it
// finds its data damaged; ABORTED kFenced; NOT_FOUND kForgotten; ALREADY_EXISTS
// kNameTaken; FAILED_PRECONDITION it refuses for good: no such table, no permission;
// UNAVAILABLE anything else. No error holds a password.
class PostgresqlConnection {
 public:
  // SQLSTATEs by which the functions of postgresql_schema.h refuse a server: another
  // leads a job that it would write; it has no row, or a newer connection; a job of the
  // name, which is the message, is there.
  static constexpr std::string_view kFenced = "EV001";
  static constexpr std::string_view kForgotten = "EV002";
  static constexpr std::string_view kNameTaken = "EV003";

  // `target` as PostgresqlTarget has it. `patience`: without a sign of the database for
  // so long the connection counts as broken.
  static absl::StatusOr<PostgresqlConnection> Open(const std::string& target,
                                                   std::chrono::milliseconds patience);

  // Statements without parameters, separated by semicolons; rows are passed over.
  absl::Status Run(const std::string& statements);
  // One statement alone.
  absl::StatusOr<PostgresqlRows> Ask(std::string_view statement,
                                     const PostgresqlValues& values = {});

  // Keeps a statement, which must be a literal or outlive the connection, for Exchange.
  void Queue(std::string_view statement, PostgresqlValues values = {});
  // Sends what was queued and awaits all of its answers. After the first error nothing
  // more of it is carried out, and the error is returned; a transaction that was begun
  // is still to be rolled back.
  absl::StatusOr<std::vector<PostgresqlRows>> Exchange();
  // The next Exchange waits so long for a sign, where that is above the connection's
  // patience.
  void Allow(std::chrono::milliseconds patience) { allowed_ = patience; }

  // The connection is lost, and with it the answers to what was sent: what of it was
  // carried out is not known.
  bool broken() const { return broken_; }

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  struct Queued {
    std::string_view statement;
    PostgresqlValues values;
  };
  // A statement's name, once it is prepared.
  struct Prepared {
    std::string name;
    bool known = false;
  };
  // What was sent and is to be answered: a statement's preparation, or its execution.
  struct Sent {
    Prepared* prepares = nullptr;
  };

  explicit PostgresqlConnection(std::chrono::milliseconds patience)
      : patience_(patience) {}

  absl::StatusOr<std::vector<PostgresqlRows>> Exchange(
      const std::vector<Queued>& queued);
  absl::Status Send(const Queued& queued, std::vector<Sent>& sent);
  absl::StatusOr<std::vector<PostgresqlRows>> Gather(const std::vector<Sent>& sent);
  // The next answer; null where a statement has no more.
  absl::StatusOr<PostgresqlRows> Next();
  // Sends and receives until an answer is there.
  absl::Status AwaitAnswer();
  absl::Status Broken(std::string_view what);

  std::chrono::milliseconds patience_;
  std::chrono::milliseconds allowed_{0};
  std::unique_ptr<pg_conn, Close> connection_;
  std::map<std::string_view, Prepared> prepared_;
  std::vector<Queued> queue_;
  bool broken_ = false;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_CONNECTION_H_
