// A store that fails and stands still when a test says so.
#ifndef EVENPACK_TESTS_TESTING_FAULT_STORE_H_
#define EVENPACK_TESTS_TESTING_FAULT_STORE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/store/state_store.h"

namespace evenpack::testing {

// Thread-safe. A commit that fails changes nothing, but as GoAway has it.
class FaultStore final : public StateStore {
 public:
  // `store` does what this one doesn't refuse, and outlives it.
  explicit FaultStore(StateStore& store, bool commit_waits = true)
      : store_(store), commit_waits_(commit_waits) {}

  SharedStore* Shared() override { return store_.Shared(); }
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return commit_waits_; }
  bool Keeps() const override { return store_.Keeps(); }
  absl::StatusOr<std::vector<std::string>> Jobs() override { return store_.Jobs(); }
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override { return store_.Profiles(); }
  uint64_t SizeBytes() const override { return store_.SizeBytes(); }

  // After the next `skip` commits, `count` fail: INTERNAL "the disk is full".
  void FailCommits(int count, int skip = 0);
  // So does each with a write of this job or profile; of none where it is empty.
  void FailCommitsOf(const std::string& job);
  // The next `count` loads fail: INTERNAL "the disk is gone".
  void FailLoads(int count);
  // Loads so far.
  int loads() const;

  // From now on whether a commit stands is not told (UNKNOWN) and nothing is read,
  // until ComeBack; the next commit stands all the same where it is `after_a_commit`.
  void GoAway(bool after_a_commit);
  void ComeBack();
  // The next commit, or after so many others, stands, but whether it does is not told
  // (UNKNOWN).
  void LoseAnswer(int skip = 0);

  // Commits wait from now on, until Release.
  void Block();
  void Release();
  // Returns once a commit waits.
  void WaitUntilBlocked();
  // Loads wait from now on, until Release.
  void BlockLoads();
  // Returns once a load waits.
  void WaitUntilLoadBlocked();

  // Those that did not fail: how many writes each had.
  std::vector<size_t> commits() const;

 private:
  bool Fails(std::span<const StoreWrite> writes) EVENPACK_REQUIRES(mutex_);

  StateStore& store_;
  const bool commit_waits_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool blocked_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool leaves_ EVENPACK_GUARDED_BY(mutex_) = false;
  int lost_answer_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool away_ EVENPACK_GUARDED_BY(mutex_) = false;
  int waiting_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool loads_blocked_ EVENPACK_GUARDED_BY(mutex_) = false;
  int waiting_loads_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int loads_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int skipped_commits_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int failing_commits_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int failing_loads_ EVENPACK_GUARDED_BY(mutex_) = 0;
  std::string failing_job_ EVENPACK_GUARDED_BY(mutex_);
  std::vector<size_t> commits_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_FAULT_STORE_H_
