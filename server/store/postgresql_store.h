// Jobs and cost profiles in a PostgreSQL database that several servers may share: one
// of them leads, and another does when it is gone. What Commit returned OK for survives
// a crash of the server and what the database itself survives. docs/reliability.md says
// against what else.
//
//   auto store = PostgresqlStore::Open("host=db dbname=evenpack");
//   (*store)->Lead(terms);  // returns once no other server leads
//
// A thread of its own renews the lease and connects again when the connection is lost;
// until then everything is refused at once. A commit whose answer was lost with the
// connection waits for the next one, and asks; a server that can't learn it leads no
// more, as if another did, since what it holds of its jobs may be behind the database.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_STORE_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/mutex.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_lead.h"
#include "server/store/postgresql_transaction.h"
#include "server/store/state_store.h"

namespace evenpack {

// Thread-safe; one connection.
class PostgresqlStore final : public StateStore {
 public:
  // `target`: as PostgresqlTarget gives it. Creates the tables where there are none.
  // UNAVAILABLE: the database can't be reached. FAILED_PRECONDITION: its tables are of
  // another program or a newer format.
  static absl::StatusOr<std::unique_ptr<PostgresqlStore>> Open(
      const std::string& target);
  // Releases.
  ~PostgresqlStore() override;

  absl::Status Lead(const LeadTerms& terms) override;
  void StepDown() override;

  // RESOURCE_EXHAUSTED: the database's disk is full. UNAVAILABLE: it can't be reached,
  // or whether the writes are stored can't be learned. ABORTED: another server leads.
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return true; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  // DATA_LOSS names the snapshot or the record.
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  // Of the tables with their indexes, measured now and then.
  uint64_t SizeBytes() const override { return size_; }

 private:
  explicit PostgresqlStore(std::string target);

  // False: another leads.
  absl::StatusOr<bool> TryLead();
  // A connection that is set up, and of one that leads the lease taken anew.
  absl::Status Connect() EVENPACK_REQUIRES(mutex_);
  // OK where there is a connection of one that leads.
  absl::Status CheckLead() const EVENPACK_REQUIRES(mutex_);
  // Notes what a failed call means for all that follow.
  absl::Status Failed(absl::Status status) EVENPACK_REQUIRES(mutex_);
  absl::Status FindJobs() EVENPACK_REQUIRES(mutex_);
  absl::Status Measure() EVENPACK_REQUIRES(mutex_);
  absl::StatusOr<std::vector<int64_t>> NewIds(size_t count) EVENPACK_REQUIRES(mutex_);
  // Whether a transaction stands whose answer was `lost`.
  absl::StatusOr<bool> Resolve(int64_t number, absl::Status lost)
      EVENPACK_REQUIRES(mutex_);
  // The keeper's thread.
  void Keep(const LeadTerms& terms);
  absl::Status KeepOnce() EVENPACK_REQUIRES(mutex_);

  const std::string target_;

  // Known without the lock, which a commit may hold for long: the connection is lost,
  // or there is no lead.
  std::atomic<bool> down_ = true;
  std::atomic<uint64_t> size_ = 0;

  Mutex mutex_;
  CondVar changed_;
  std::optional<PostgresqlConnection> connection_ EVENPACK_GUARDED_BY(mutex_);
  PostgresqlLead lead_ EVENPACK_GUARDED_BY(mutex_);
  PostgresqlJobs jobs_ EVENPACK_GUARDED_BY(mutex_);
  bool leads_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Why this server can't lead any more, for good; OK: it can.
  absl::Status lost_ EVENPACK_GUARDED_BY(mutex_);
  bool released_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Written since the tables were measured.
  uint64_t unmeasured_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;

  std::thread keeper_;  // last, since it uses the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_STORE_H_
