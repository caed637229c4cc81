// Which peer (peer.h) made which of the jobs that there are, for their quota.
#ifndef EVENPACK_SERVER_SERVICE_JOB_MAKERS_H_
#define EVENPACK_SERVER_SERVICE_JOB_MAKERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe. Knows the jobs made since this process began: those that it found in its
// store, or that another server made, are nobody's, nor are those that moved to
// another, of which only the database could tell whether they are there still.
class JobMakers {
 public:
  using Exists = std::function<bool(const std::string& job)>;

  // `limit`: jobs of a peer at a time; 0: no bound. `exists` says whether a job is
  // here still; it is asked under this object's lock, so that it must not wait.
  JobMakers(uint64_t limit, Exists exists)
      : limit_(limit), exists_(std::move(exists)) {}

  // Before a job is made; False where the peer has as many as it may. Else followed by
  // End.
  bool Begin(const std::string& peer);
  // `made`: a job of that name is there now.
  void End(const std::string& peer, const std::string& job, bool made);

  uint64_t limit() const { return limit_; }
  // Names that are remembered: at most twice as many as there are jobs, and some.
  size_t size() const;

 private:
  struct Peer {
    uint64_t making = 0;
    std::set<std::string> made;
  };

  // Forgets names of jobs that are gone: of the peer the first, or of all peers all.
  bool ForgetOne(Peer& peer) EVENPACK_REQUIRES(mutex_);
  void ForgetAll() EVENPACK_REQUIRES(mutex_);
  void Forget(const std::string& job) EVENPACK_REQUIRES(mutex_);
  void DropIfIdle(const std::string& peer) EVENPACK_REQUIRES(mutex_);

  const uint64_t limit_;
  const Exists exists_;
  mutable Mutex mutex_;
  std::map<std::string, Peer> peers_ EVENPACK_GUARDED_BY(mutex_);
  // Of each job its maker.
  std::map<std::string, std::string> makers_ EVENPACK_GUARDED_BY(mutex_);
  // Names at which all that are gone are forgotten.
  size_t crowded_ EVENPACK_GUARDED_BY(mutex_) = kFewNames;

  static constexpr size_t kFewNames = 1024;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_MAKERS_H_
