// Jobs and cost profiles in a PostgreSQL database that several servers may share, each
// of which leads some of the jobs. What Commit returned OK for survives a crash of the
// server and what the database itself survives. docs/reliability.md says against what
// else.
//
//   auto store = PostgresqlStore::Open("host=db dbname=evenpack");
//   (*store)->Join("packing-0:7070", listener);  // told of the first jobs by now
//
// A thread of its own, the keeper, renews the lease, looks whether jobs have moved or
// should, and connects again when the connection is lost; until then everything is
// refused at once. A commit whose answer was lost with the connection waits for the
// next one, and asks. Where that is long in coming it stays in doubt (UNKNOWN): by the
// next connection it stands or never will, and Load says which.
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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/store/led_jobs.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_member.h"
#include "server/store/postgresql_reader.h"
#include "server/store/postgresql_sweeper.h"
#include "server/store/shared_store.h"

namespace evenpack {

// Thread-safe; a connection for what is written, one for jobs that are read, one for
// all else that is, and one for what is removed.
class PostgresqlStore final : public SharedStore {
 public:
  // `target`: as PostgresqlTarget gives it. Creates the tables where there are none.
  // UNAVAILABLE: the database can't be reached. FAILED_PRECONDITION: its tables are of
  // another program or a newer format.
  static absl::StatusOr<std::unique_ptr<PostgresqlStore>> Open(
      const std::string& target, const LeaseTiming& timing = {});
  // Releases.
  ~PostgresqlStore() override;

  SharedStore* Shared() override { return this; }
  absl::Status Join(const std::string& address, LeadListener& listener) override;
  absl::Status Leave() override;
  absl::StatusOr<std::string> HandOver(const std::string& job) override;
  void CannotRead(const std::string& job) override;
  bool IsAway() const override { return away_; }
  bool IsCutOff() const override { return cut_off_; }
  bool IsSureToLead() const override {
    return Clock::Steady().Now() < sure_until_.load();
  }
  absl::StatusOr<JobPlace> Locate(const std::string& job) override;
  absl::StatusOr<std::vector<JobPlace>> Places(const std::string& after,
                                               size_t most) override;
  void StepDown() override;

  // RESOURCE_EXHAUSTED: the database's disk is full. UNAVAILABLE: it can't be reached.
  // UNKNOWN: nor could it for LeaseTiming::doubt, in which a commit's answer was lost.
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return true; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  // DATA_LOSS names the snapshot or the record.
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  // Of the tables with their indexes, measured now and then.
  uint64_t SizeBytes() const override { return size_; }

 private:
  PostgresqlStore(const std::string& target, const LeaseTiming& timing);

  // OK where there is a connection of one that has joined.
  absl::Status CheckJoined() const EVENPACK_REQUIRES(mutex_);
  absl::Status Connect() EVENPACK_REQUIRES(mutex_);
  // As PostgresqlMember's, and Noted.
  absl::Status Failed(absl::Status status) EVENPACK_REQUIRES(mutex_);
  // After a failure that member_ knows of: lets the keeper see to it.
  absl::Status Noted(absl::Status status) EVENPACK_REQUIRES(mutex_);
  void LookSoon() EVENPACK_REQUIRES(mutex_);
  absl::Status Measure() EVENPACK_REQUIRES(mutex_);
  // For the jobs that these make.
  absl::StatusOr<std::vector<int64_t>> NewIds(std::span<const StoreWrite> writes)
      EVENPACK_REQUIRES(mutex_);
  // The rules of all stores, and that this server leads what is written.
  absl::Status CheckLedWrites(std::span<const StoreWrite> writes)
      EVENPACK_REQUIRES(mutex_);
  // What these, which were committed, leave to be removed.
  void LeaveToSweeper(std::span<const StoreWrite> writes) EVENPACK_REQUIRES(mutex_);
  // Whether a transaction stands whose answer was `lost`. UNKNOWN: it is in doubt.
  absl::StatusOr<bool> Resolve(int64_t number, absl::Status lost)
      EVENPACK_REQUIRES(mutex_);
  // HandOver's answer where its own was lost.
  absl::StatusOr<std::string> ResolveHandOver(const std::string& name, int64_t number,
                                              absl::Status lost)
      EVENPACK_REQUIRES(mutex_);
  // On a connection for reads, unless the database is known to be away.
  absl::Status Read(PostgresqlReader& reader,
                    absl::FunctionRef<absl::Status(PostgresqlConnection&)> read);
  // How often the store has connected anew, and the records that the job then had.
  std::pair<int, uint64_t> BeforeRead(const std::string& job);
  // The keeper's thread.
  void Keep();
  absl::Status KeepOnce(LeadNews& news) EVENPACK_REQUIRES(mutex_);
  // Whether it is to be told now, perhaps once more, that this server is cut off.
  bool IsCutOffByNow() EVENPACK_REQUIRES(mutex_);
  void Tell(const LeadNews& news);
  // The lease was renewed by what began then.
  void SureFrom(Clock::TimePoint renewed) EVENPACK_REQUIRES(mutex_);

  const LeaseTiming timing_;
  // This server's name among those that share the store.
  const std::string server_;
  // Known without the lock, which a commit may hold for long: the connection is lost,
  // or nothing is led.
  std::atomic<bool> down_ = true;
  std::atomic<bool> away_ = false;
  std::atomic<bool> cut_off_ = false;
  // Until when the lease lasts at least. Of a lease that has run out nobody is sure
  // before the listener was told what the next look found. Written under the lock.
  std::atomic<Clock::TimePoint> sure_until_ = Clock::TimePoint{};
  std::atomic<uint64_t> size_ = 0;
  PostgresqlReader reader_;
  // For whole jobs, since nobody should wait for all of one who asks where one is.
  PostgresqlReader loader_;
  PostgresqlSweeper sweeper_;
  // From Join on.
  LeadListener* listener_ = nullptr;

  Mutex mutex_;
  CondVar changed_;
  PostgresqlMember member_ EVENPACK_GUARDED_BY(mutex_);
  int reconnections_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool released_ EVENPACK_GUARDED_BY(mutex_) = false;
  // When the connection was lost; none: there is one.
  std::optional<Clock::TimePoint> away_since_ EVENPACK_GUARDED_BY(mutex_);
  // When it was last told that this server is cut off.
  Clock::TimePoint told_cut_off_ EVENPACK_GUARDED_BY(mutex_);
  // Why it is not known whether the last commit stands; OK once there is a connection,
  // by which what this server leads was read anew.
  absl::Status doubt_ EVENPACK_GUARDED_BY(mutex_);
  // Written since the tables were measured.
  uint64_t unmeasured_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // The keeper doesn't wait for the next look; and has finished its first.
  bool look_soon_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool looked_ EVENPACK_GUARDED_BY(mutex_) = false;

  std::thread keeper_;  // last, since it uses the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_STORE_H_
