// The cost profiles of a server, by name: bytes that the service writes and reads.
#ifndef EVENPACK_SERVER_CONTROL_COST_PROFILE_REGISTRY_H_
#define EVENPACK_SERVER_CONTROL_COST_PROFILE_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/control/committer.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/store/state_store.h"

namespace evenpack {

// Thread-safe. What is found was committed. Held by a shared_ptr.
class CostProfileRegistry final
    : public CommitParticipant,
      public std::enable_shared_from_this<CostProfileRegistry> {
 public:
  // Once, under no lock, from the committer's thread or before the call returns.
  using Done = std::function<void(const absl::Status&)>;
  using Listed = std::vector<std::pair<std::string, absl::StatusOr<std::string>>>;

  static constexpr size_t kMaxProfiles = 1000;

  // All outlive it.
  CostProfileRegistry(Committer& committer, StateStore& store, const Clock& clock)
      : committer_(committer), store_(store), clock_(clock) {}

  // Takes over what the store has. Before anything else; and again where another server
  // may have written to it, not from the committer's thread.
  absl::Status Recover();

  // In place of the one of that name, which has passed CheckJobName.
  // RESOURCE_EXHAUSTED: there are kMaxProfiles. UNAVAILABLE and others as
  // StoreFailure.
  void Put(const std::string& name, std::string bytes, const Done& done);
  // NOT_FOUND; and as Put.
  void Remove(const std::string& name, const Done& done);

  // NOT_FOUND; DATA_LOSS where the store has it damaged.
  absl::StatusOr<std::string> Find(const std::string& name) const;
  // At most `most` whose names are above `after`, by name; DATA_LOSS as Find.
  Listed List(const std::string& after, size_t most) const;

  uint64_t incarnation() const override { return 0; }
  // Nothing is shown before it is committed.
  void OnCommitFailed(const absl::Status&) override {}
  void AfterCommit() override {}

 private:
  uint64_t changes() const;
  // With what is damaged logged.
  absl::StatusOr<StoredProfiles> Read();
  void Enqueue(StoreWrite write, Done done) EVENPACK_REQUIRES(mutex_);
  void OnPut(const std::string& name, const std::string& bytes,
             const absl::Status& status);

  Committer& committer_;
  StateStore& store_;
  const Clock& clock_;

  mutable Mutex mutex_;
  StoredProfiles profiles_ EVENPACK_GUARDED_BY(mutex_);
  // Put and not committed yet.
  size_t pending_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // How many of this server's writes were committed.
  uint64_t changes_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_COST_PROFILE_REGISTRY_H_
