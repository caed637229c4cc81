// One of the servers that share a store in PostgreSQL: its connection, and what it
// leads.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_MEMBER_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_MEMBER_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/runtime/clock.h"
#include "server/store/lease_share.h"
#include "server/store/led_jobs.h"
#include "server/store/postgresql_connection.h"
#include "server/store/postgresql_lead.h"
#include "server/store/postgresql_look.h"

namespace evenpack {

// When servers look at each other. All that share a database have the same.
struct LeaseTiming {
  // How long a server may be silent before others take what it leads, so that one that
  // has died is followed within five seconds.
  std::chrono::milliseconds lease{3000};
  // Between signs of life; a third of that at most.
  std::chrono::milliseconds renewal{1000};
  // Between looks whether jobs have moved.
  std::chrono::milliseconds look{250};
  // After how long without a byte of it a transaction that others wait for is ended.
  // Above what a large commit may stand still on its way.
  std::chrono::milliseconds silence{10'000};
  // How long a commit whose answer was lost waits for the database, and holds up all
  // others.
  std::chrono::milliseconds doubt{20'000};
  // How long the database may be away before that is told, and between that it is.
  std::chrono::milliseconds away{20'000};
  // How long a server that got a job that it can't read leaves jobs to others, and how
  // long it then tries no more where there were no others.
  std::chrono::milliseconds aside{600'000};
  std::chrono::milliseconds alone{10'000};
};

// Not thread-safe. Errors as PostgresqlConnection's.
class PostgresqlMember {
 public:
  // `server`: as PostgresqlLead has it; `target`: as PostgresqlTarget gives it.
  PostgresqlMember(const std::string& server, std::string target,
                   const LeaseTiming& timing)
      : target_(std::move(target)), timing_(timing), lead_(server, timing.lease) {}

  // A connection that is set up; and of one that has joined, what it leads, read anew.
  absl::Status Connect();
  // Without one, of what follows only Connect, LeaveLater and Release may be called
  // that use it.
  bool connected() const { return connection_.has_value(); }
  PostgresqlConnection& connection() { return *connection_; }
  // What a failed use of the connection means for all that follow; returns it, or
  // lost().
  absl::Status Failed(absl::Status status);
  // Why this server can lead nothing any more, for good; OK: it can.
  const absl::Status& lost() const { return lost_; }
  absl::Status Lose(const std::string& why);

  absl::Status Join(const std::string& address);
  absl::Status Leave();
  void LeaveLater() { lead_.LeaveLater(); }
  // Others need not wait for what it leads. Closes the connection.
  void Release();

  // Renews where that is due, and takes jobs that are to be taken. What the listener is
  // to be told since the last time.
  absl::Status Look(LeadNews& news);
  // This server changed cost profiles, which is no news.
  void ChangedProfiles() { ++own_profile_changes_; }
  // When the lease began that this server had of its last Join, Connect or Look.
  Clock::TimePoint renewed() const { return renewed_; }

  PostgresqlLead& lead() { return lead_; }
  const PostgresqlLead& lead() const { return lead_; }
  LedJobs& led() { return led_; }
  const LedJobs& led() const { return led_; }

 private:
  // Whether this server leaves jobs to others at this moment.
  bool StandsAside(const PostgresqlLook& look, Clock::TimePoint now);
  // What this server is to take and to give, as it sees the others.
  absl::StatusOr<LeaseMoves> MovesNow(const PostgresqlLook& look, Clock::TimePoint now);
  // Where a server is silent: ends what of such holds locks on the connection's
  // database.
  absl::Status EndStopped(const PostgresqlLook& look);
  // Of one that has joined, on a new connection.
  absl::Status Rejoin(PostgresqlConnection& connection);
  // Takes so many jobs, and reads what this server leads by then.
  absl::Status TakeJobs(int64_t most, PostgresqlLook look);
  bool ProfilesAreNews(int64_t changes);

  const std::string target_;
  const LeaseTiming timing_;
  std::optional<PostgresqlConnection> connection_;
  PostgresqlLead lead_;
  LedJobs led_;
  absl::Status lost_;
  Clock::TimePoint renewed_;
  // PostgresqlLook's when led_ was read; none: it is to be read.
  std::optional<int64_t> fingerprint_;
  // When it takes jobs again, and until when it stays with them, whatever it can't
  // read, beside the servers that there were by then.
  Clock::TimePoint aside_until_;
  Clock::TimePoint alone_until_;
  std::set<std::string> left_alone_by_;
  // In a row in which nobody led some job.
  int looks_with_free_jobs_ = 0;
  // PostgresqlLook's when it was last told of; and this server's own since.
  std::optional<int64_t> profile_changes_;
  int64_t own_profile_changes_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_MEMBER_H_
