// A store that keeps what is committed as long as it lives itself.
#ifndef EVENPACK_TESTS_TESTING_MEMORY_STORE_H_
#define EVENPACK_TESTS_TESTING_MEMORY_STORE_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/store/state_store.h"

namespace evenpack::testing {

class MemoryStore final : public StateStore {
 public:
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return false; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  uint64_t SizeBytes() const override { return 0; }

 private:
  struct Held {
    StoredJob job;
    // By stream and first_sequence.
    std::map<std::pair<uint32_t, uint64_t>, std::string> tokens;
  };
  struct Content {
    std::map<std::string, Held> jobs;
    StoredProfiles profiles;
  };

  static void Write(const AppendRecord& write, Content& content);
  static void Write(const WriteSnapshot& write, Content& content);
  static void Write(const RemoveJob& write, Content& content);
  static void Write(const PutTokens& write, Content& content);
  static void Write(const DropTokens& write, Content& content);
  static void Write(const WriteProfile& write, Content& content);
  static void Write(const RemoveProfile& write, Content& content);

  Mutex mutex_;
  Content content_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_MEMORY_STORE_H_
