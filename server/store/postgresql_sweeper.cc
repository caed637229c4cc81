#include "server/store/postgresql_sweeper.h"

#include <algorithm>

#include "server/runtime/clock.h"
#include "server/runtime/log.h"
#include "server/store/postgresql_leftovers.h"

namespace evenpack {
namespace {

// Between looks at what others have left, as one that died may have.
constexpr std::chrono::seconds kBetweenLooks{60};
// After an attempt that failed.
constexpr std::chrono::seconds kRetry{2};

}  // namespace

void PostgresqlSweeper::Start() {
  thread_ = std::thread([this] { Work(); });
}

void PostgresqlSweeper::Covered(int64_t job, uint64_t records) {
  if (records == 0) return;
  {
    MutexLock lock(mutex_);
    uint64_t& known = covered_[job];
    known = std::max(known, records);
  }
  changed_.SignalAll();
}

void PostgresqlSweeper::Left() {
  {
    MutexLock lock(mutex_);
    left_ = true;
  }
  changed_.SignalAll();
}

void PostgresqlSweeper::End() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
}

void PostgresqlSweeper::Stop() {
  End();
  if (thread_.joinable()) thread_.join();
  connection_.Close();
}

void PostgresqlSweeper::Work() {
  while (true) {
    Records covered;
    {
      MutexLock lock(mutex_);
      if (!ending_ && !left_ && covered_.empty()) {
        changed_.WaitFor(mutex_, kBetweenLooks);
      }
      if (ending_) return;
      covered.swap(covered_);
      left_ = false;
    }
    if (Sweep(covered)) continue;
    for (const auto& [job, records] : covered) Covered(job, records);
    Left();
    if (!Rest(kRetry)) return;
  }
}

bool PostgresqlSweeper::Sweep(Records& covered) {
  while (!covered.empty()) {
    const int64_t job = covered.begin()->first;
    const uint64_t records = covered.begin()->second;
    const bool all = RemoveAll([job, records](PostgresqlConnection& connection) {
      return RemoveCovered(job, records, connection);
    });
    if (!all) return false;
    covered.erase(covered.begin());
  }
  return RemoveAll(RemoveRemoved) && RemoveAll(RemoveDropped);
}

bool PostgresqlSweeper::RemoveAll(Batch remove) {
  const Clock& clock = Clock::Steady();
  for (bool more = true; more;) {
    const Clock::TimePoint start = clock.Now();
    const absl::Status status =
        connection_.Read([&more, remove](PostgresqlConnection& connection) {
          const absl::StatusOr<bool> any = remove(connection);
          if (any.ok()) more = *any;
          return any.status();
        });
    if (!status.ok()) {
      LogFailure(status);
      return false;
    }
    failing_ = false;
    if (more && !Rest(clock.Now() - start)) return false;
  }
  return true;
}

void PostgresqlSweeper::LogFailure(const absl::Status& status) {
  if (!failing_) {
    Log(LogLevel::kWarning, "what is left is not removed from the database",
        {{"error", std::string(status.message())}});
  }
  failing_ = true;
}

bool PostgresqlSweeper::Rest(std::chrono::nanoseconds pause) {
  const Clock::TimePoint end = Clock::Steady().Now() + pause;
  MutexLock lock(mutex_);
  for (Clock::TimePoint now; !ending_ && (now = Clock::Steady().Now()) < end;) {
    changed_.WaitFor(mutex_, end - now);
  }
  return !ending_;
}

}  // namespace evenpack
