// The statements of one commit to a store in PostgreSQL.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_lead.h"
#include "server/store/state_store.h"

namespace evenpack {

// A job of the store.
struct PostgresqlJob {
  int64_t id = 0;
  uint64_t records = 0;
  // Why nothing of it can be read or written.
  absl::Status damage;
};
using PostgresqlJobs = std::map<std::string, PostgresqlJob>;

// Not thread-safe. Add all writes, then Queue.
class PostgresqlTransaction {
 public:
  // `jobs`, which outlives it: as the store has them. `ids`: for jobs that are made.
  PostgresqlTransaction(const PostgresqlJobs& jobs, std::vector<int64_t> ids)
      : jobs_(jobs), ids_(std::move(ids)) {}

  // How many jobs the writes make.
  static size_t JobsMade(std::span<const StoreWrite> writes);

  // `writes`, which have passed CheckWrites, must stay until Queue has returned. Their
  // job's damage where it is damaged.
  absl::Status Add(std::span<const StoreWrite> writes);
  // From BEGIN to COMMIT; returns the transaction's number, as PostgresqlLead has it.
  int64_t Queue(PostgresqlLead& lead, PostgresqlConnection& connection);
  // Once it stands.
  void Apply(PostgresqlLead& lead, PostgresqlJobs& jobs) const;

 private:
  struct Statement {
    std::string_view text;
    PostgresqlValues values;
  };
  // Records that go in one statement.
  struct Records {
    std::vector<int64_t> places;
    std::vector<std::string_view> bytes;
    std::vector<std::string> checksums;
    size_t size = 0;
  };

  absl::Status Write(const AppendRecord& write);
  absl::Status Write(const WriteSnapshot& write);
  absl::Status Write(const RemoveJob& write);
  absl::Status Write(const PutTokens& write);
  absl::Status Write(const DropTokens& write);
  absl::Status Write(const WriteProfile& write);
  absl::Status Write(const RemoveProfile& write);
  // As the writes so far leave it; none where they removed it.
  std::optional<PostgresqlJob>& ToWrite(const std::string& job);
  void AddStatement(std::string_view text, PostgresqlValues values);
  void AddRecords();

  const PostgresqlJobs& jobs_;
  std::vector<int64_t> ids_;
  std::map<std::string, std::optional<PostgresqlJob>> written_;
  Records records_;
  std::vector<Statement> statements_;
  // To be fenced.
  std::set<int64_t> led_;
  std::vector<int64_t> made_;
  std::vector<int64_t> removed_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_
