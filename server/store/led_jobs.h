// What a server leads of a store in PostgreSQL, and what of it was told and read.
#ifndef EVENPACK_SERVER_STORE_LED_JOBS_H_
#define EVENPACK_SERVER_STORE_LED_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace evenpack {

// A job that this server leads.
struct PostgresqlJob {
  int64_t id = 0;
  // Of its lease.
  int64_t epoch = 0;
  uint64_t records = 0;
  // Why nothing of it can be read or written.
  absl::Status damage;
  // The listener knows of it.
  bool told = false;
  // It was read, or made, in this epoch: what is decided on it from here on is decided
  // on what the last leader left.
  bool loaded = false;
  // This server can't read it, and another might: to be given before all others.
  bool unreadable = false;
};
using PostgresqlJobs = std::map<std::string, PostgresqlJob>;

// To be told to a LeadListener, in this order. Names, sorted.
struct LeadNews {
  std::vector<std::string> lost;
  std::vector<std::string> taken;
  std::vector<std::string> to_give;
  bool profiles = false;
};

// Not thread-safe.
class LedJobs {
 public:
  const PostgresqlJobs& jobs() const { return jobs_; }
  // One that may be written, or null.
  const PostgresqlJob* Writable(const std::string& name) const;

  // As the database has them; what differs is news. So is a job that has fewer records
  // than were committed: the database went back.
  void Replace(PostgresqlJobs found);
  // By this server's own doing, which is no news: it made the job, or wrote records of
  // it.
  void Set(const std::string& name, PostgresqlJob job);
  // It removed the job, or handed it over.
  void Remove(const std::string& name);
  // The same of a commit whose outcome was learned only once Replace had been called:
  // `job` as the commit left it, or nothing where it removed the job or gave it away.
  void Settle(const std::string& name, const std::optional<PostgresqlJob>& job);
  // It has read the job, of this number and in this epoch. False where it leads it no
  // more, or anew.
  bool SetLoaded(const std::string& name, int64_t id, int64_t epoch);

  // In the epoch in which it leads it now.
  void SetUnreadable(const std::string& name);
  int64_t unreadable() const;

  // All news since the last time.
  LeadNews TakeNews();
  // Adds names of jobs that are to be given, those that are unreadable first, then the
  // newest, until `give` of them are asked for, or kMostAsked: each until it is gone,
  // Keep is called, or none is to be given any more.
  void Ask(int64_t give, LeadNews& news);
  void Keep(const std::string& name) { asked_.erase(name); }
  size_t asked() const { return asked_.size(); }

  // So that those that stay are not held up by those that go.
  static constexpr size_t kMostAsked = 8;

 private:
  PostgresqlJobs jobs_;
  std::set<std::string> lost_;
  std::set<std::string> asked_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_LED_JOBS_H_
