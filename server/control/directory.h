// What the database of a shared store says of other servers: where their jobs are led,
// and which cost profiles they wrote. Asked on a thread of its own, so that no call
// holds one while it waits.
//
//   call: no such job here ──WhereIs──> thread: SharedStore::Locate ──> LED_ELSEWHERE,
//   NO_LEADER, NOT_FOUND
#ifndef EVENPACK_SERVER_CONTROL_DIRECTORY_H_
#define EVENPACK_SERVER_CONTROL_DIRECTORY_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/control/cost_profile_registry.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/store/shared_store.h"

namespace evenpack {

// Thread-safe. Callbacks run once, under no lock, from the directory's thread or before
// a call returns. An answer is never older than its question, but for addresses, which
// may be kMostAge old: whoever is sent to the wrong server is sent on from there, while
// a job that was made a moment ago must not be denied.
class Directory {
 public:
  using Told = std::function<void(const absl::Status&)>;
  using Places = absl::StatusOr<std::vector<JobPlace>>;
  using Listed = std::function<void(const Places&)>;

  static constexpr std::chrono::milliseconds kMostAge{250};

  // All outlive it.
  Directory(SharedStore& store, CostProfileRegistry& profiles, const Clock& clock);
  // Closes.
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Once the server has joined; what was asked before waited for it. `led_here` runs
  // for a job that was asked for and that this server leads, as the database has it.
  void Open(std::function<void(const std::string&)> led_here);
  // From here on questions are answered at once, UNAVAILABLE. May be called again.
  void Close();

  // Why a job isn't here: UNAVAILABLE with LED_ELSEWHERE or NO_LEADER, NOT_FOUND, or
  // UNAVAILABLE as StoreFailure. Never OK. Many that ask for one job are one question.
  void WhereIs(const std::string& job, const Told& told);
  // As SharedStore::Places.
  void List(const std::string& after, size_t most, const Listed& listed);
  // Reads the profiles again. OK, or as CostProfileRegistry::Recover.
  void ReadProfiles(const Told& told);

  // The job moved: what is known of its address is of no use.
  void Forget(const std::string& job);
  // The job is about to move: who asks for it waits until Release.
  void Hold(const std::string& job);
  // `address`: of the server that leads it; empty: it did not move. Of no use where the
  // job was forgotten meanwhile: that server has handed it on, or back.
  void Release(const std::string& job, const std::string& address);

  // Questions that were answered with NO_LEADER.
  uint64_t leaderless() const { return leaderless_; }

 private:
  using Questions = std::map<std::string, std::vector<Told>>;
  struct Known {
    std::string address;
    Clock::TimePoint at;
  };

  void Work();
  // Waits for something to do; false: closed.
  bool TakeWork(Questions& questions, std::vector<Told>& readers,
                std::deque<std::function<void()>>& listings);
  bool IsClosed();
  void Answer(const std::string& job, const std::vector<Told>& askers);
  absl::Status Locate(const std::string& job);
  // Where it isn't too old; else empty.
  std::string KnownAddress(const std::string& job) EVENPACK_REQUIRES(mutex_);
  void Remember(const std::string& job, const std::string& address)
      EVENPACK_REQUIRES(mutex_);

  SharedStore& store_;
  CostProfileRegistry& profiles_;
  const Clock& clock_;
  std::atomic<uint64_t> leaderless_ = 0;

  Mutex mutex_;
  CondVar changed_;
  bool open_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Set by Open, constant from then on.
  std::function<void(const std::string&)> led_here_ EVENPACK_GUARDED_BY(mutex_);
  Questions questions_ EVENPACK_GUARDED_BY(mutex_);
  // Of jobs that are held.
  Questions waiting_ EVENPACK_GUARDED_BY(mutex_);
  // Whether they were forgotten since they are.
  std::map<std::string, bool> held_ EVENPACK_GUARDED_BY(mutex_);
  std::vector<Told> readers_ EVENPACK_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> listings_ EVENPACK_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ EVENPACK_GUARDED_BY(mutex_);
  // Rises when a job moved: what was read meanwhile may be of before.
  uint64_t moves_ EVENPACK_GUARDED_BY(mutex_) = 0;

  std::thread thread_;  // last, since it uses the others
};

// UNAVAILABLE.
absl::Status LedElsewhere(const std::string& job, const std::string& address);
// UNAVAILABLE.
absl::Status NoLeader(const std::string& job);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_DIRECTORY_H_
