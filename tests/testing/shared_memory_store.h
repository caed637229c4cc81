// A store that several servers of one test share, whose jobs move when the test says
// so.
#ifndef EVENPACK_TESTS_TESTING_SHARED_MEMORY_STORE_H_
#define EVENPACK_TESTS_TESTING_SHARED_MEMORY_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/store/shared_store.h"
#include "tests/testing/memory_store.h"

namespace evenpack::testing {

class SharedMemoryStore;

// What the servers share. Thread-safe. Outlives their stores.
class SharedMemory {
 public:
  // From here on `to` leads the job, or nobody where it is null. The servers are told
  // before this returns.
  void Move(const std::string& job, SharedMemoryStore* to);
  // As Move, of a leader that is cut off: it is told by TellLost.
  void Take(const std::string& job, SharedMemoryStore* to);
  void TellLost(const std::string& job, SharedMemoryStore& loser);
  // Null: nobody.
  SharedMemoryStore* LeaderOf(const std::string& job) const;
  // Tells the job's leader.
  void AskToGive(const std::string& job);
  // Tells all servers but this one.
  void TellProfilesChanged(const SharedMemoryStore& writer);

  // Reads of where jobs are led wait from now on, until ReleaseReads, which makes them
  // fail where it says so: UNAVAILABLE.
  void HoldReads();
  void ReleaseReads(bool fail = false);
  // Returns once one waits.
  void WaitUntilReading();
  // How many jobs were located.
  int locations() const;

 private:
  friend class SharedMemoryStore;

  // Once reads are not held.
  absl::Status CheckRead() EVENPACK_REQUIRES(mutex_);
  LeadListener* ListenerOf(const SharedMemoryStore* server) EVENPACK_REQUIRES(mutex_);
  JobPlace PlaceOf(const std::string& job, const SharedMemoryStore& asked_by)
      EVENPACK_REQUIRES(mutex_);
  size_t JobsOf(const SharedMemoryStore* server) EVENPACK_REQUIRES(mutex_);

  struct Server {
    SharedMemoryStore* store = nullptr;
    std::string address;
    LeadListener* listener = nullptr;
    bool takes = true;
  };

  mutable Mutex mutex_;
  CondVar changed_;
  MemoryStore content_ EVENPACK_GUARDED_BY(mutex_);
  // In the order in which they joined.
  std::vector<Server> servers_ EVENPACK_GUARDED_BY(mutex_);
  // Of each job that there is; null: nobody.
  std::map<std::string, SharedMemoryStore*> leaders_ EVENPACK_GUARDED_BY(mutex_);
  bool held_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool failing_ EVENPACK_GUARDED_BY(mutex_) = false;
  int reading_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int locations_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Servers that hand a job over, and tell the one that takes it.
  int telling_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

// One server's view. Its listener is told by whoever moves a job, once that is done.
class SharedMemoryStore final : public SharedStore {
 public:
  explicit SharedMemoryStore(SharedMemory& memory) : memory_(memory) {}
  ~SharedMemoryStore() override { StepDown(); }

  SharedStore* Shared() override { return this; }
  void StepDown() override;
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return true; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  uint64_t SizeBytes() const override { return 0; }

  absl::Status Join(const std::string& address, LeadListener& listener) override;
  absl::Status Leave() override;
  absl::StatusOr<std::string> HandOver(const std::string& job) override;
  void CannotRead(const std::string& job) override;
  bool IsCutOff() const override {
    if (!cut_off_next_.exchange(false)) return cut_off_;
    return cut_off_.exchange(true);
  }
  bool IsSureToLead() const override { return sure_ && !cut_off_; }
  absl::StatusOr<JobPlace> Locate(const std::string& job) override;
  absl::StatusOr<std::vector<JobPlace>> Places(const std::string& after,
                                               size_t most) override;

  // It is from here on where it is `cut_off`, of which its listener is told.
  void SetCutOff(bool cut_off);
  // Whether its lease has not run out, where it isn't cut off.
  void SetSure(bool sure) { sure_ = sure; }
  // It is once that was asked, and nobody is told.
  void CutOffBehindNextLook() { cut_off_next_ = true; }
  // Jobs of which CannotRead was told.
  std::vector<std::string> unreadable() const;

 private:
  absl::Status CheckFence(std::span<const StoreWrite> writes)
      EVENPACK_REQUIRES(memory_.mutex_);

  SharedMemory& memory_;
  mutable std::atomic<bool> cut_off_ = false;
  mutable std::atomic<bool> cut_off_next_ = false;
  std::atomic<bool> sure_ = true;
  std::vector<std::string> unreadable_ EVENPACK_GUARDED_BY(memory_.mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_SHARED_MEMORY_STORE_H_
