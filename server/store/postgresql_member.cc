#include "server/store/postgresql_member.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"
#include "server/store/postgresql_schema.h"
#include "server/store/postgresql_stopped.h"

namespace evenpack {
namespace {

// With one such look after the other, for a second, the others have not taken their
// share of jobs that nobody leads.
constexpr int kLooksForOthers = 4;

}  // namespace

absl::Status PostgresqlMember::Connect() {
  connection_.reset();
  absl::StatusOr<PostgresqlConnection> connection =
      PostgresqlConnection::Open(target_, kPostgresqlPatience);
  if (!connection.ok()) return connection.status();
  absl::Status status = PreparePostgresql(*connection);
  if (!status.ok()) return status;
  if (lead_.joined()) {
    status = Rejoin(*connection);
    if (!status.ok()) return status;
  }
  connection_ = *std::move(connection);
  return absl::OkStatus();
}

absl::Status PostgresqlMember::Rejoin(PostgresqlConnection& connection) {
  const Clock::TimePoint now = Clock::Steady().Now();
  absl::Status status = lead_.Rejoin(connection);
  if (absl::IsNotFound(status)) return Lose(std::string(status.message()));
  if (!status.ok()) {
    if (connection.broken()) return status;
    // What the old connection had under way may be held by what it still waits for.
    connection.Run("ROLLBACK").IgnoreError();
    EndStoppedTransactions(timing_.silence, connection).IgnoreError();
    return status;
  }
  absl::StatusOr<PostgresqlJobs> jobs = FindLedJobs(lead_.server(), {}, connection);
  if (!jobs.ok()) return jobs.status();
  led_.Replace(*std::move(jobs));
  renewed_ = now;
  return absl::OkStatus();
}

absl::Status PostgresqlMember::Failed(absl::Status status) {
  if (connection_->broken()) {
    Log(LogLevel::kWarning, "database lost",
        {{"error", std::string(status.message())}});
    connection_.reset();
    return status;
  }
  connection_->Run("ROLLBACK").IgnoreError();
  if (absl::IsNotFound(status)) return Lose(std::string(status.message()));
  if (absl::IsAborted(status)) fingerprint_.reset();
  return status;
}

absl::Status PostgresqlMember::Lose(const std::string& why) {
  lost_ = absl::AbortedError(why);
  return lost_;
}

absl::Status PostgresqlMember::Join(const std::string& address) {
  renewed_ = Clock::Steady().Now();
  absl::Status status = lead_.Join(address, *connection_);
  return status.ok() ? status : Failed(std::move(status));
}

absl::Status PostgresqlMember::Leave() {
  absl::Status status = lead_.Leave(*connection_);
  return status.ok() ? status : Failed(std::move(status));
}

void PostgresqlMember::Release() {
  if (connection_.has_value() && lead_.joined() && lost_.ok()) {
    lead_.Release(*connection_).IgnoreError();
  }
  connection_.reset();
}

absl::Status PostgresqlMember::Look(LeadNews& news) {
  const Clock::TimePoint now = Clock::Steady().Now();
  const bool renews = now - renewed_ >= timing_.renewal;
  if (renews) lead_.QueueRenewal(*connection_);
  QueueLook(*connection_);
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection_->Exchange();
  if (!rows.ok()) return Failed(rows.status());
  if (renews) renewed_ = now;
  const PostgresqlLook look = TakeLook(lead_.server(), rows->back());
  if (renews) {
    if (absl::Status status = EndStopped(look); !status.ok()) return Failed(status);
  }
  const absl::StatusOr<LeaseMoves> moves = MovesNow(look, now);
  if (!moves.ok()) return Failed(moves.status());
  if (moves->take > 0 || fingerprint_ != look.fingerprint) {
    absl::Status status = TakeJobs(moves->take, look);
    if (!status.ok()) return Failed(std::move(status));
  }
  news = led_.TakeNews();
  led_.Ask(moves->give, news);
  news.profiles = ProfilesAreNews(look.profile_changes);
  return absl::OkStatus();
}

absl::Status PostgresqlMember::EndStopped(const PostgresqlLook& look) {
  const bool silent = std::any_of(
      look.servers.begin(), look.servers.end(),
      [](const ServerLoad& server) { return !server.server.empty() && !server.lives; });
  if (!silent) return absl::OkStatus();
  return EndStoppedTransactions(timing_.silence, *connection_).status();
}

bool PostgresqlMember::StandsAside(const PostgresqlLook& look, Clock::TimePoint now) {
  const auto takes = [this](const ServerLoad& server) {
    return server.server != lead_.server() && server.lives && server.takes;
  };
  // One that was not there when this server was left alone may be able to read it.
  const auto is_new = [&](const ServerLoad& server) {
    return takes(server) && !left_alone_by_.contains(server.server);
  };
  const auto any = [&look](const auto& is) {
    return std::any_of(look.servers.begin(), look.servers.end(), is);
  };
  if (led_.unreadable() > 0 && (now >= alone_until_ || any(is_new))) {
    aside_until_ = now + timing_.aside;
  }
  if (now >= aside_until_) return false;
  if (any(takes)) return true;
  // Somebody has to, and two that can't read it don't leave it to each other all the
  // time.
  aside_until_ = now;
  alone_until_ = now + timing_.alone;
  left_alone_by_.clear();
  for (const ServerLoad& server : look.servers) left_alone_by_.insert(server.server);
  return false;
}

absl::StatusOr<LeaseMoves> PostgresqlMember::MovesNow(const PostgresqlLook& look,
                                                      Clock::TimePoint now) {
  const bool aside = StandsAside(look, now);
  const bool was_aside = lead_.aside();
  if (absl::Status status = lead_.StandAside(aside, *connection_); !status.ok()) {
    return status;
  }
  if (lead_.aside() != was_aside) {
    Log(LogLevel::kWarning, aside ? "standing aside" : "standing aside no more",
        {{"unreadable_jobs", absl::StrCat(led_.unreadable())}});
  }
  if (aside) return LeaseMoves{.take = 0, .give = led_.unreadable()};
  bool has_free = false;
  for (const ServerLoad& server : look.servers) {
    has_free = has_free || (!server.lives && server.jobs > 0);
  }
  const bool left_over = looks_with_free_jobs_ >= kLooksForOthers;
  looks_with_free_jobs_ = has_free ? looks_with_free_jobs_ + 1 : 0;
  return MovesOf(lead_.server(), look.servers, left_over);
}

absl::Status PostgresqlMember::TakeJobs(int64_t most, PostgresqlLook look) {
  if (most > 0) {
    lead_.QueueClaim(most, *connection_);
    QueueLook(*connection_);
    const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection_->Exchange();
    if (!rows.ok()) return rows.status();
    look = TakeLook(lead_.server(), rows->back());
  }
  absl::StatusOr<PostgresqlJobs> jobs =
      FindLedJobs(lead_.server(), led_.jobs(), *connection_);
  if (!jobs.ok()) return jobs.status();
  led_.Replace(*std::move(jobs));
  fingerprint_ = look.fingerprint;
  return absl::OkStatus();
}

bool PostgresqlMember::ProfilesAreNews(int64_t changes) {
  // At first they are yet to be read. The database may have gone back.
  const bool news = profile_changes_.has_value() &&
                    changes != *profile_changes_ + own_profile_changes_;
  profile_changes_ = changes;
  own_profile_changes_ = 0;
  return news;
}

}  // namespace evenpack
