// Where jobs live when the server doesn't: for each job a snapshot and the records
// since, and the tokens that it carries; and beside them cost profiles.
#ifndef EVENPACK_SERVER_STORE_STATE_STORE_H_
#define EVENPACK_SERVER_STORE_STATE_STORE_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack {

// The records of a job are numbered from 0 without gaps. Record 0 makes the job.
struct AppendRecord {
  std::string job;
  uint64_t number = 0;
  std::string bytes;
};

// The job after its first `records` records, which are no longer needed.
struct WriteSnapshot {
  std::string job;
  uint64_t records = 0;
  std::string bytes;
};

struct RemoveJob {
  std::string job;
};

// Tokens of documents of a stream from `first_sequence` on (token_batch.h), in place of
// what was put there.
struct PutTokens {
  std::string job;
  uint32_t stream = 0;
  uint64_t first_sequence = 0;
  std::string bytes;
};

// All of a stream that were put with a first_sequence below.
struct DropTokens {
  std::string job;
  uint32_t stream = 0;
  uint64_t below = 0;
};

// In place of the one of its name.
struct WriteProfile {
  std::string profile;
  std::string bytes;
};

// Where there is none, nothing.
struct RemoveProfile {
  std::string profile;
};

using StoreWrite = std::variant<AppendRecord, WriteSnapshot, RemoveJob, PutTokens,
                                DropTokens, WriteProfile, RemoveProfile>;

struct StoredTokens {
  uint32_t stream = 0;
  uint64_t first_sequence = 0;
  std::string bytes;

  friend bool operator==(const StoredTokens&, const StoredTokens&) = default;
};

struct StoredJob {
  // Empty where no snapshot was written; covers the first `snapshot_records` records.
  std::string snapshot;
  uint64_t snapshot_records = 0;
  // From record snapshot_records on.
  std::vector<std::string> records;
  // By stream, then by number.
  std::vector<StoredTokens> tokens;
};

// By name: the bytes, or DATA_LOSS where they are damaged.
using StoredProfiles = std::map<std::string, absl::StatusOr<std::string>>;

class SharedStore;

// Thread-safe.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // This store, where several servers may share it; else null.
  virtual SharedStore* Shared() { return nullptr; }

  // After everything else: lets other processes lead without waiting. What was
  // committed stands.
  virtual void StepDown() {}

  // All of the writes, in order, or none. Once this has returned OK they survive
  // whatever the store is built to survive. ALREADY_EXISTS: record 0 of a job that
  // there is. NOT_FOUND: a later write of a job that there
  // isn't. OUT_OF_RANGE: a number out of turn. Others: the store failed, and trying
  // again may help. UNKNOWN: the store has been away for long, or its disk has flushed
  // nothing; whether these writes, or some that came before, stand is not known before
  // Load succeeds.
  virtual absl::Status Commit(std::span<const StoreWrite> writes) = 0;

  // Whether Commit waits for a device. Where it doesn't, those who decide also commit,
  // and no thread is woken for it.
  virtual bool CommitWaits() const = 0;

  // Whether what is committed is there for Load. Where it isn't, nobody needs to make
  // records and snapshots: jobs end with the server.
  virtual bool Keeps() const { return true; }

  // Names, sorted.
  virtual absl::StatusOr<std::vector<std::string>> Jobs() = 0;

  // NOT_FOUND: no such job. DATA_LOSS: what is stored is damaged.
  virtual absl::StatusOr<StoredJob> Load(const std::string& job) = 0;

  virtual absl::StatusOr<StoredProfiles> Profiles() = 0;

  // What the store takes on its device: its file and the log of that; 0 where it has
  // none, or the system does not tell. Does not wait for a Commit.
  virtual uint64_t SizeBytes() const = 0;

  // A database was not reached when that was tried last. Does not wait for a Commit.
  virtual bool IsAway() const { return false; }
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_STATE_STORE_H_
