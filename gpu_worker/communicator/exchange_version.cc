#include "gpu_worker/communicator/exchange_version.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace evenpack::worker {

std::string Versioned(absl::string_view address) {
  return absl::StrCat(kExchangeVersion, address);
}

absl::StatusOr<std::vector<std::string>> Unversioned(
    const std::vector<std::string>& addresses) {
  std::vector<std::string> plain;
  plain.reserve(addresses.size());
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    absl::string_view address = addresses[rank];
    if (!absl::ConsumePrefix(&address, kExchangeVersion)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "addresses[", rank, "]: the worker of cp_rank ", rank,
          " is of another version of Evenpack, whose exchanges differ; accepted: "
          "workers of one version in a group"));
    }
    plain.emplace_back(address);
  }
  return plain;
}

}  // namespace evenpack::worker
