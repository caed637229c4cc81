#include "server/store/no_store.h"

#include "absl/strings/str_cat.h"

namespace evenpack {

absl::Status NoStore::Commit(std::span<const StoreWrite> /*writes*/) {
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> NoStore::Jobs() {
  return std::vector<std::string>();
}

absl::StatusOr<StoredJob> NoStore::Load(const std::string& job) {
  return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in a store"));
}

absl::StatusOr<StoredProfiles> NoStore::Profiles() { return StoredProfiles(); }

}  // namespace evenpack
