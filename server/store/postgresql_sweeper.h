// Removes what a store in PostgreSQL needs no longer (postgresql_leftovers.h), on a
// thread and a connection of its own, so that no commit and no read waits for it.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_SWEEPER_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_SWEEPER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/mutex.h"
#include "server/store/postgresql_reader.h"

namespace evenpack {

// Thread-safe.
class PostgresqlSweeper {
 public:
  // `target`: as PostgresqlTarget gives it. Connects when there is something to do.
  PostgresqlSweeper(std::string target, std::chrono::milliseconds patience)
      : connection_(std::move(target), patience) {}
  ~PostgresqlSweeper() { Stop(); }

  // Once; looks at what others have left, now and every minute from here on.
  void Start();
  // A snapshot of a job, known to be whole, covers so many records.
  void Covered(int64_t job, uint64_t records);
  // Jobs were removed, or tokens dropped.
  void Left();
  // Another database may have taken over.
  void Renew() { connection_.Renew(); }
  // Within one batch; End asks for it and returns at once.
  void Stop();
  void End();

 private:
  using Records = std::map<int64_t, uint64_t>;
  using Batch = absl::FunctionRef<absl::StatusOr<bool>(PostgresqlConnection&)>;

  void Work();
  // All that is left at this moment. False: it couldn't be removed.
  bool Sweep(Records& covered);
  // Batch after batch, with as much time between them as they take.
  bool RemoveAll(Batch remove);
  // Once, until it works again.
  void LogFailure(const absl::Status& status);
  // False: it is to end.
  bool Rest(std::chrono::nanoseconds pause);

  PostgresqlReader connection_;
  Mutex mutex_;
  CondVar changed_;
  Records covered_ EVENPACK_GUARDED_BY(mutex_);
  bool left_ EVENPACK_GUARDED_BY(mutex_) = true;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool failing_ = false;  // the thread's alone
  std::thread thread_;    // last, since it uses the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_SWEEPER_H_
