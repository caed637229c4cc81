// The statements of one commit to a store in PostgreSQL.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/store/led_jobs.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_lead.h"
#include "server/store/state_store.h"

namespace evenpack {

// Not thread-safe. Add all writes, then Queue.
class PostgresqlTransaction {
 public:
  // `server`: who makes jobs. `jobs`, which outlives it: those that it leads. `ids`:
  // for jobs that are made.
  PostgresqlTransaction(std::string server, const LedJobs& jobs,
                        std::vector<int64_t> ids)
      : server_(std::move(server)), jobs_(jobs), ids_(std::move(ids)) {}

  // Names of the jobs that the writes make, as often as they do.
  static std::vector<std::string_view> JobsMade(std::span<const StoreWrite> writes);

  // `writes`, which have passed CheckWrites, must stay until Queue has returned. Their
  // job's damage where it is damaged.
  absl::Status Add(std::span<const StoreWrite> writes);
  // From BEGIN to COMMIT; returns the transaction's number, as PostgresqlLead has it.
  // ABORTED then: another server leads one of the jobs. ALREADY_EXISTS: a job that is
  // made is there.
  int64_t Queue(PostgresqlLead& lead, PostgresqlConnection& connection);
  // Once it stands.
  void Apply(LedJobs& jobs) const;
  // Where that was learned from the database, as which the jobs are.
  void Settle(LedJobs& jobs) const;
  // It changes cost profiles.
  bool changes_profiles() const { return changes_profiles_; }

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
  // A statement that tells other servers of it, before the first one.
  void ChangeProfiles();
  void AddStatement(std::string_view text, PostgresqlValues values);
  void AddRecords();
  // The time that the largest statement may take; none: the session's.
  std::chrono::milliseconds TimeOfLargest() const;

  const std::string server_;
  const LedJobs& jobs_;
  std::vector<int64_t> ids_;
  std::map<std::string, std::optional<PostgresqlJob>> written_;
  Records records_;
  std::vector<Statement> statements_;
  // Epochs of the jobs that must be led.
  std::map<int64_t, int64_t> led_;
  bool changes_profiles_ = false;
  // Of the largest statement.
  size_t largest_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_TRANSACTION_H_
