#include "server/store/postgresql_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/runtime/clock.h"
#include "server/runtime/failure_news.h"
#include "server/runtime/log.h"
#include "server/runtime/unique_name.h"
#include "server/store/postgresql_load.h"
#include "server/store/postgresql_numbers.h"
#include "server/store/postgresql_places.h"
#include "server/store/postgresql_schema.h"
#include "server/store/postgresql_transaction.h"
#include "server/store/stored_row.h"
#include "server/store/write_check.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;

// Between attempts to connect: doubled from the first to the last.
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLastRetry{900};
// Measuring is not worth it for less.
constexpr uint64_t kBytesBetweenMeasures = 1 << 20;

absl::Status NotConnected() {
  return absl::UnavailableError("store: the database can't be reached");
}

absl::Status NotHandedOver(const std::string& job, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("job: '", job, "' is not handed over: ", std::string(why)));
}

uint64_t BytesWritten(std::span<const StoreWrite> writes) {
  uint64_t bytes = 0;
  for (const StoreWrite& write : writes) {
    std::visit(
        [&bytes](const auto& held) {
          if constexpr (requires { held.bytes; }) bytes += held.bytes.size();
        },
        write);
  }
  return bytes;
}

}  // namespace

PostgresqlStore::PostgresqlStore(const std::string& target, const LeaseTiming& timing)
    : timing_(timing),
      server_(UniqueName("server")),
      reader_(target, kPostgresqlPatience),
      loader_(target, kPostgresqlPatience),
      sweeper_(target, kPostgresqlPatience),
      member_(server_, target, timing) {}

PostgresqlStore::~PostgresqlStore() { StepDown(); }

absl::StatusOr<std::unique_ptr<PostgresqlStore>> PostgresqlStore::Open(
    const std::string& target, const LeaseTiming& timing) {
  std::unique_ptr<PostgresqlStore> store(new PostgresqlStore(target, timing));
  MutexLock lock(store->mutex_);
  absl::Status status = store->Connect();
  if (!status.ok()) return status;
  return store;
}

absl::Status PostgresqlStore::Connect() {
  absl::Status status = member_.Connect();
  if (!member_.lost().ok()) return Noted(std::move(status));
  if (!status.ok() || !member_.lead().joined()) return status;
  Log(LogLevel::kInfo, "database reached again");
  reader_.Renew();
  loader_.Renew();
  sweeper_.Renew();
  ++reconnections_;
  doubt_ = absl::OkStatus();
  away_since_.reset();
  away_ = false;
  cut_off_ = false;
  down_ = false;
  LookSoon();
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Join(const std::string& address, LeadListener& listener) {
  listener_ = &listener;
  {
    MutexLock lock(mutex_);
    if (!member_.connected()) {
      if (absl::Status status = Connect(); !status.ok()) return status;
    }
    if (absl::Status status = member_.Join(address); !status.ok()) {
      return Failed(std::move(status));
    }
    down_ = false;
    look_soon_ = true;
    // Where it fails the size is told once more is written.
    Measure().IgnoreError();
  }
  keeper_ = std::thread([this] { Keep(); });
  sweeper_.Start();
  MutexLock lock(mutex_);
  while (!looked_ && !released_) changed_.Wait(mutex_);
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Leave() {
  MutexLock lock(mutex_);
  member_.LeaveLater();
  if (absl::Status status = CheckJoined(); !status.ok()) return status;
  absl::Status status = member_.Leave();
  return status.ok() ? status : Failed(std::move(status));
}

void PostgresqlStore::StepDown() {
  {
    MutexLock lock(mutex_);
    released_ = true;
    down_ = true;
  }
  changed_.SignalAll();
  sweeper_.End();
  if (keeper_.joinable()) keeper_.join();
  sweeper_.Stop();
  reader_.Close();
  loader_.Close();
  MutexLock lock(mutex_);
  member_.Release();
}

void PostgresqlStore::Keep() {
  milliseconds pause{0};
  milliseconds retry = kFirstRetry;
  FailureNews news_of_looks(std::chrono::seconds(0));
  while (true) {
    LeadNews news;
    absl::Status lost;
    bool cut_off = false;
    std::optional<Clock::TimePoint> renewed;
    {
      MutexLock lock(mutex_);
      if (!released_ && !look_soon_) changed_.WaitFor(mutex_, pause);
      if (released_) return;
      const absl::Status status = KeepOnce(news);
      if (news_of_looks.After(status) == FailureNews::Line::kFailed) {
        Log(LogLevel::kWarning, "database not reached",
            {{"error", std::string(status.message())}});
      }
      pause = status.ok() ? timing_.look : retry;
      retry = status.ok() ? kFirstRetry : std::min(2 * retry, kLastRetry);
      if (status.ok()) renewed = member_.renewed();
      look_soon_ = false;
      lost = member_.lost();
      cut_off = IsCutOffByNow();
    }
    Tell(news);
    if (cut_off) listener_->OnCutOff();
    if (!lost.ok()) {
      Log(LogLevel::kError, "lead lost", {{"because", std::string(lost.message())}});
      listener_->OnLostAll(lost);
    }
    MutexLock lock(mutex_);
    if (renewed.has_value()) SureFrom(*renewed);
    looked_ = true;
    changed_.SignalAll();
    if (!lost.ok()) return;
  }
}

void PostgresqlStore::SureFrom(Clock::TimePoint renewed) {
  sure_until_ = std::max(sure_until_.load(), renewed + timing_.lease);
}

absl::Status PostgresqlStore::KeepOnce(LeadNews& news) {
  if (!member_.lost().ok()) return member_.lost();
  if (!member_.connected()) {
    if (absl::Status status = Connect(); !status.ok()) return status;
  }
  absl::Status status = member_.Look(news);
  return status.ok() ? status : Noted(std::move(status));
}

bool PostgresqlStore::IsCutOffByNow() {
  if (!away_since_.has_value()) return false;
  const Clock::TimePoint now = Clock::Steady().Now();
  if (now - (cut_off_ ? told_cut_off_ : *away_since_) < timing_.away) return false;
  if (!cut_off_.exchange(true)) Log(LogLevel::kError, "cut off from the database");
  told_cut_off_ = now;
  return true;
}

void PostgresqlStore::Tell(const LeadNews& news) {
  if (!news.lost.empty() || !news.taken.empty()) {
    Log(LogLevel::kInfo, "jobs moved",
        {{"lost", absl::StrCat(news.lost.size())},
         {"taken", absl::StrCat(news.taken.size())}});
  }
  for (const std::string& job : news.lost) listener_->OnLost(job);
  for (const std::string& job : news.taken) listener_->OnTaken(job);
  for (const std::string& job : news.to_give) listener_->OnAskedToGive(job);
  if (news.profiles) listener_->OnProfilesChanged();
}

absl::Status PostgresqlStore::CheckJoined() const {
  if (!member_.lost().ok()) return member_.lost();
  if (!member_.connected() || !member_.lead().joined() || released_) {
    return NotConnected();
  }
  return absl::OkStatus();
}

absl::Status PostgresqlStore::Failed(absl::Status status) {
  return Noted(member_.Failed(std::move(status)));
}

absl::Status PostgresqlStore::Noted(absl::Status status) {
  if (!member_.connected() || !member_.lost().ok()) down_ = true;
  if (!member_.connected() && !away_since_.has_value()) {
    away_since_ = Clock::Steady().Now();
    away_ = true;
  }
  if (down_ || absl::IsAborted(status)) LookSoon();
  return status;
}

void PostgresqlStore::LookSoon() {
  look_soon_ = true;
  changed_.SignalAll();
}

absl::Status PostgresqlStore::Measure() {
  const absl::StatusOr<PostgresqlRows> size = member_.connection().Ask(
      "SELECT sum(pg_total_relation_size(each))::bigint FROM unnest(ARRAY["
      "'evenpack_jobs', 'evenpack_snapshots', 'evenpack_records', "
      "'evenpack_profiles', 'evenpack_tokens']::regclass[]) AS each");
  if (!size.ok()) return Failed(size.status());
  size_ = static_cast<uint64_t>(size->Integer(0, 0));
  unmeasured_bytes_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> PostgresqlStore::NewIds(
    std::span<const StoreWrite> writes) {
  const std::vector<std::string_view> made = PostgresqlTransaction::JobsMade(writes);
  std::vector<std::string_view> names;
  for (const std::string_view name : made) {
    // One that this server leads is removed before.
    if (member_.led().Writable(std::string(name)) == nullptr) names.push_back(name);
  }
  absl::StatusOr<std::vector<int64_t>> ids =
      NewJobNumbers(made.size(), names, member_.connection());
  if (!ids.ok()) return Failed(ids.status());
  // Taken from the back.
  std::reverse(ids->begin(), ids->end());
  return ids;
}

absl::Status PostgresqlStore::CheckLedWrites(std::span<const StoreWrite> writes) {
  std::string unknown;
  // The lock is held while the function below runs, which the compiler can't see.
  const LedJobs* const led = &member_.led();
  absl::Status status = CheckWrites(
      writes, [led, &unknown](const std::string& name) -> std::optional<uint64_t> {
        const PostgresqlJob* const job = led->Writable(name);
        if (job != nullptr) return job->records;
        unknown = name;
        return std::nullopt;
      });
  if (!absl::IsNotFound(status)) return status;
  const absl::StatusOr<JobPlace> place =
      FindPlace(server_, unknown, member_.connection());
  if (absl::IsNotFound(place.status())) return status;
  if (!place.ok()) return Failed(place.status());
  return absl::AbortedError("store: another server leads");
}

absl::Status PostgresqlStore::Commit(std::span<const StoreWrite> writes) {
  if (writes.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  absl::Status status = CheckJoined();
  if (absl::IsUnavailable(status) && !doubt_.ok()) return doubt_;
  if (status.ok()) status = CheckLedWrites(writes);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<int64_t>> ids = NewIds(writes);
  if (!ids.ok()) return ids.status();
  PostgresqlTransaction transaction(server_, member_.led(), *std::move(ids));
  status = transaction.Add(writes);
  if (!status.ok()) return status;
  const Clock::TimePoint began = Clock::Steady().Now();
  const int64_t number = transaction.Queue(member_.lead(), member_.connection());
  status = member_.connection().Exchange().status();
  if (status.ok()) {
    // Else the lease may have run out before, and others may have taken what it held.
    if (IsSureToLead()) SureFrom(began);
    transaction.Apply(member_.led());
  } else if (member_.connection().broken()) {
    const absl::StatusOr<bool> stands = Resolve(number, status);
    if (!stands.ok()) return stands.status();
    if (!*stands) return status;
    // The jobs were read anew with the connection.
    transaction.Settle(member_.led());
  } else {
    return Failed(std::move(status));
  }
  if (transaction.changes_profiles()) member_.ChangedProfiles();
  LeaveToSweeper(writes);
  unmeasured_bytes_ += BytesWritten(writes);
  // The commit stands, whatever becomes of this.
  if (unmeasured_bytes_ >= kBytesBetweenMeasures) Measure().IgnoreError();
  return absl::OkStatus();
}

void PostgresqlStore::LeaveToSweeper(std::span<const StoreWrite> writes) {
  for (const StoreWrite& write : writes) {
    if (std::holds_alternative<RemoveJob>(write) ||
        std::holds_alternative<DropTokens>(write)) {
      sweeper_.Left();
    }
    const auto* const snapshot = std::get_if<WriteSnapshot>(&write);
    if (snapshot == nullptr) continue;
    const PostgresqlJob* const job = member_.led().Writable(snapshot->job);
    if (job != nullptr) sweeper_.Covered(job->id, snapshot->records);
  }
}

absl::StatusOr<bool> PostgresqlStore::Resolve(int64_t number, absl::Status lost) {
  Failed(std::move(lost)).IgnoreError();
  const Clock& clock = Clock::Steady();
  const Clock::TimePoint end = clock.Now() + timing_.doubt;
  milliseconds pause = kFirstRetry;
  while (true) {
    absl::Status status = Connect();
    if (!member_.lost().ok()) return member_.lost();
    if (member_.connected()) {
      const absl::StatusOr<bool> stands =
          member_.lead().IsCommitted(number, member_.connection());
      if (stands.ok()) return stands;
      status = Failed(stands.status());
    }
    if (clock.Now() >= end) {
      doubt_ = absl::UnknownError(
          absl::StrCat("store: a commit is in doubt: ", status.message()));
      Log(LogLevel::kError, "commit in doubt",
          {{"because", std::string(status.message())}});
      return doubt_;
    }
    // With the lock: nothing else may be committed before this is known.
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLastRetry);
  }
}

absl::StatusOr<std::string> PostgresqlStore::HandOver(const std::string& job) {
  MutexLock lock(mutex_);
  // Whatever becomes of it, it may be asked for again.
  member_.led().Keep(job);
  if (absl::Status status = CheckJoined(); !status.ok()) return status;
  const auto found = member_.led().jobs().find(job);
  if (found == member_.led().jobs().end()) {
    return NotHandedOver(job, "this server doesn't lead it");
  }
  const auto [id, epoch] = std::pair(found->second.id, found->second.epoch);
  PostgresqlConnection& connection = member_.connection();
  connection.Queue("BEGIN");
  const int64_t number = member_.lead().QueueEnter({{id, epoch}}, connection);
  member_.lead().QueueGive(id, connection);
  PostgresqlLead::QueueCommit(connection);
  const absl::StatusOr<std::vector<PostgresqlRows>> rows = connection.Exchange();
  if (!rows.ok() && connection.broken()) {
    return ResolveHandOver(job, number, rows.status());
  }
  if (!rows.ok()) {
    absl::Status status = Failed(rows.status());
    if (!absl::IsAborted(status) || !member_.lost().ok()) return status;
    return NotHandedOver(job, "this server doesn't lead it");
  }
  const PostgresqlRows& taker = (*rows)[2];
  if (taker.size() == 0) return NotHandedOver(job, "no other server takes jobs");
  member_.led().Remove(job);
  if (member_.led().asked() == 0) LookSoon();
  return std::string(taker.Bytes(0, 0));
}

void PostgresqlStore::CannotRead(const std::string& job) {
  MutexLock lock(mutex_);
  member_.led().SetUnreadable(job);
  LookSoon();
}

absl::StatusOr<std::string> PostgresqlStore::ResolveHandOver(const std::string& name,
                                                             int64_t number,
                                                             absl::Status lost) {
  const absl::StatusOr<bool> stands = Resolve(number, lost);
  if (absl::IsUnknown(stands.status())) return lost;
  if (!stands.ok()) return stands.status();
  if (!*stands) return lost;
  // What this server leads was read anew.
  if (member_.led().jobs().contains(name)) {
    return NotHandedOver(name, "no other server takes jobs");
  }
  member_.led().Settle(name, std::nullopt);
  const absl::StatusOr<JobPlace> place = FindPlace(server_, name, member_.connection());
  if (!place.ok() && !absl::IsNotFound(place.status())) {
    Failed(place.status()).IgnoreError();
  }
  return place.ok() ? place->address : "";
}

absl::Status PostgresqlStore::Read(
    PostgresqlReader& reader,
    absl::FunctionRef<absl::Status(PostgresqlConnection&)> read) {
  if (down_) return NotConnected();
  return reader.Read(read);
}

absl::StatusOr<JobPlace> PostgresqlStore::Locate(const std::string& job) {
  absl::StatusOr<JobPlace> place;
  absl::Status status = Read(reader_, [&](PostgresqlConnection& connection) {
    place = FindPlace(server_, job, connection);
    return place.status();
  });
  if (!status.ok()) return status;
  return place;
}

absl::StatusOr<std::vector<JobPlace>> PostgresqlStore::Places(const std::string& after,
                                                              size_t most) {
  absl::StatusOr<std::vector<JobPlace>> places;
  absl::Status status = Read(reader_, [&](PostgresqlConnection& connection) {
    places = FindPlaces(server_, after, most, connection);
    return places.status();
  });
  if (!status.ok()) return status;
  return places;
}

absl::StatusOr<std::vector<std::string>> PostgresqlStore::Jobs() {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckJoined(); !status.ok()) return status;
  std::vector<std::string> names;
  for (const auto& [name, job] : member_.led().jobs()) names.push_back(name);
  return names;
}

std::pair<int, uint64_t> PostgresqlStore::BeforeRead(const std::string& job) {
  MutexLock lock(mutex_);
  const auto found = member_.led().jobs().find(job);
  const bool leads = found != member_.led().jobs().end();
  return {reconnections_, leads ? found->second.records : 0};
}

absl::StatusOr<StoredJob> PostgresqlStore::Load(const std::string& job) {
  if (down_) return NotConnected();
  const auto [reconnections, least] = BeforeRead(job);
  absl::StatusOr<LoadedJob> loaded;
  absl::Status status = Read(loader_, [&](PostgresqlConnection& connection) {
    loaded = LoadJob(server_, job, connection);
    return loaded.status();
  });
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  // It may have been read from a database that another has replaced.
  if (reconnections != reconnections_) return NotConnected();
  if (!member_.led().SetLoaded(job, loaded->id, loaded->epoch)) {
    return absl::AbortedError("store: another server leads");
  }
  if (!loaded->job.ok()) return loaded->job.status();
  const uint64_t records = loaded->job->snapshot_records + loaded->job->records.size();
  // A job has a first record from the commit on that made it.
  if (records > 0 && records >= least) {
    sweeper_.Covered(loaded->id, loaded->job->snapshot_records);
    return std::move(loaded->job);
  }
  return DamagedRow(
      absl::StrCat("the records of job '", job, "' from ", records, " on are missing"));
}

absl::StatusOr<StoredProfiles> PostgresqlStore::Profiles() {
  absl::StatusOr<StoredProfiles> profiles;
  absl::Status status = Read(reader_, [&](PostgresqlConnection& connection) {
    profiles = LoadProfiles(connection);
    return profiles.status();
  });
  if (!status.ok()) return status;
  return profiles;
}

}  // namespace evenpack
