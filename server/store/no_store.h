// Where jobs live in the server alone and end with it: nothing is written, and nothing
// is there to be loaded.
#ifndef EVENPACK_SERVER_STORE_NO_STORE_H_
#define EVENPACK_SERVER_STORE_NO_STORE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/state_store.h"

namespace evenpack {

class NoStore final : public StateStore {
 public:
  // Lets go of the writes.
  absl::Status Commit(std::span<const StoreWrite> writes) override;
  bool CommitWaits() const override { return false; }
  bool Keeps() const override { return false; }
  absl::StatusOr<std::vector<std::string>> Jobs() override;
  // NOT_FOUND.
  absl::StatusOr<StoredJob> Load(const std::string& job) override;
  absl::StatusOr<StoredProfiles> Profiles() override;
  uint64_t SizeBytes() const override { return 0; }
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_NO_STORE_H_
