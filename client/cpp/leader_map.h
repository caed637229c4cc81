// What a client knows of who leads which job.
#ifndef EVENPACK_CLIENT_CPP_LEADER_MAP_H_
#define EVENPACK_CLIENT_CPP_LEADER_MAP_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "server/runtime/mutex.h"

namespace evenpack::client {

// Servers tell who leads a job that they don't lead; what they told is kept until it
// turns out to be wrong. All else is asked of one of the servers that were given, the
// same until it is lost. Thread-safe.
class LeaderMap {
 public:
  // Jobs of which more is known than that any server may be asked. When there are more,
  // all are forgotten: each costs a redirect.
  static constexpr size_t kMostJobs = 4096;

  // `given`: at least one.
  explicit LeaderMap(std::vector<std::string> given);
  LeaderMap(const LeaderMap&) = delete;
  LeaderMap& operator=(const LeaderMap&) = delete;

  // Where to ask about a job; empty: about none.
  std::string AddressFor(const std::string& job) const;
  const std::vector<std::string>& given() const { return given_; }

  // A server said that the one at `address` leads the job.
  void LedAt(const std::string& job, const std::string& address);
  // The server at `address` said that nobody leads the job just now, or can't know: the
  // next of the given ones is asked.
  void NobodyLeads(const std::string& job, const std::string& address);
  // The server at `address` can't be reached, or is about to go.
  void Lost(const std::string& address);

 private:
  // The given one behind `address`, or the one that is asked where it isn't given.
  const std::string& After(const std::string& address) const EVENPACK_REQUIRES(mutex_);
  void Remember(const std::string& job, const std::string& address)
      EVENPACK_REQUIRES(mutex_);

  const std::vector<std::string> given_;

  mutable Mutex mutex_;
  // Of given_: which is asked.
  size_t current_ EVENPACK_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::string> leaders_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_LEADER_MAP_H_
