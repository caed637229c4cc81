// Jobs and cost profiles in a file, by SQLite: what Commit returned OK for survives a
// crash of the process and of the machine. docs/reliability.md says against what else.
#ifndef EVENPACK_SERVER_STORE_SQLITE_STORE_H_
#define EVENPACK_SERVER_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/mutex.h"
#include "server/store/file_places.h"
#include "server/store/reading_lock.h"
#include "server/store/sqlite_database.h"
#include "server/store/state_store.h"

namespace evenpack {

// Thread-safe; one connection.
class SqliteStore final : public StateStore {
 public:
  enum class Access { kReadWrite, kReadOnly };

  // Of a path that may be a link's. kReadWrite creates the file where there is none.
  // kReadOnly keeps servers off it meanwhile, and leaves nothing beside it.
  // FAILED_PRECONDITION: the file is in use, of another program or a newer format, may
  // not be written, or lies on a network file system. NOT_FOUND: there is no such
  // directory. DATA_LOSS: the list of jobs or the log is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      const std::string& given, Access access = Access::kReadWrite);

  // RESOURCE_EXHAUSTED: the disk is full.
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return true; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  // DATA_LOSS names the snapshot or the record.
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  // What SQLite finds wrong with the file, also where no row that is read has to do
  // with it: a line each, at most a hundred; none where all is well. Reads the whole
  // file.
  absl::StatusOr<std::vector<std::string>> Faults();
  uint64_t SizeBytes() const override;

 private:
  struct Statements {
    SqliteStatement begin;
    SqliteStatement commit;
    SqliteStatement rollback;
    SqliteStatement add_job;
    SqliteStatement remove_job;
    SqliteStatement put_snapshot;
    SqliteStatement remove_snapshot;
    SqliteStatement get_snapshot;
    SqliteStatement add_record;
    // From a place on, before another.
    SqliteStatement remove_records;
    SqliteStatement get_records;
    // Those below are of a file that has the table.
    SqliteStatement put_tokens;
    SqliteStatement drop_tokens;
    SqliteStatement remove_tokens;
    SqliteStatement get_tokens;
    SqliteStatement put_profile;
    SqliteStatement remove_profile;
    SqliteStatement get_profile;
  };
  struct KnownJob {
    int64_t id = 0;
    uint64_t records = 0;
    // Why nothing of it can be read or written.
    absl::Status damage;
  };
  using KnownJobs = std::map<std::string, KnownJob>;
  // As a commit leaves them; none for one that it removes.
  using WrittenJobs = std::map<std::string, std::optional<KnownJob>>;

  SqliteStore(std::string path, std::unique_ptr<const ReadingLock> reading,
              SqliteDatabase database)
      : path_(std::move(path)),
        reading_(std::move(reading)),
        database_(std::move(database)),
        places_(path_) {}

  using StatementTexts =
      std::initializer_list<std::pair<SqliteStatement*, std::string_view>>;

  absl::Status PrepareStatements() EVENPACK_REQUIRES(mutex_);
  absl::Status PrepareAll(const StatementTexts& texts) EVENPACK_REQUIRES(mutex_);
  absl::StatusOr<bool> HasTable(std::string_view name) EVENPACK_REQUIRES(mutex_);
  absl::Status FindJobs() EVENPACK_REQUIRES(mutex_);
  absl::StatusOr<uint64_t> CountRecords(int64_t job) EVENPACK_REQUIRES(mutex_);
  // Has the last commit not stand, where that is not known.
  absl::Status Settle() EVENPACK_REQUIRES(mutex_);
  absl::Status WriteAll(std::span<const StoreWrite> writes, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const AppendRecord& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const WriteSnapshot& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const RemoveJob& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const PutTokens& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const DropTokens& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const WriteProfile& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status Write(const RemoveProfile& write, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  std::optional<KnownJob>& ToWrite(const std::string& job, WrittenJobs& written)
      EVENPACK_REQUIRES(mutex_);
  absl::Status LoadSnapshot(int64_t job, StoredJob& stored) EVENPACK_REQUIRES(mutex_);
  absl::Status LoadRecords(int64_t job, StoredJob& stored) EVENPACK_REQUIRES(mutex_);
  absl::Status LoadTokens(int64_t job, StoredJob& stored) EVENPACK_REQUIRES(mutex_);
  absl::StatusOr<std::string> LoadProfile(const std::string& name)
      EVENPACK_REQUIRES(mutex_);

  const std::string path_;
  // Of one that is only read; ends after its database.
  std::unique_ptr<const ReadingLock> reading_;

  Mutex mutex_;
  SqliteDatabase database_ EVENPACK_GUARDED_BY(mutex_);
  FilePlaces places_ EVENPACK_GUARDED_BY(mutex_);
  // Ends before its database.
  Statements statements_ EVENPACK_GUARDED_BY(mutex_);
  KnownJobs jobs_ EVENPACK_GUARDED_BY(mutex_);
  // UNKNOWN, and why, where a crash may leave the last commit, that failed, or not.
  absl::Status doubt_ EVENPACK_GUARDED_BY(mutex_);
  // A file of an older version that is only read has no table of them.
  bool has_profiles_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool has_tokens_ EVENPACK_GUARDED_BY(mutex_) = false;
  int64_t next_id_ EVENPACK_GUARDED_BY(mutex_) = 1;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_SQLITE_STORE_H_
