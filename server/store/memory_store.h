// A store that lives and dies with the process: for tests, and for runs that can start
// anew.
#ifndef EVENPACK_SERVER_STORE_MEMORY_STORE_H_
#define EVENPACK_SERVER_STORE_MEMORY_STORE_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/store/state_store.h"

namespace evenpack {

class MemoryStore final : public StateStore {
 public:
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return false; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  absl::StatusOr<StoredJob> Load(const std::string& job) override;

 private:
  using JobMap = std::map<std::string, StoredJob>;

  Mutex mutex_;
  JobMap jobs_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_MEMORY_STORE_H_
