#include "server/control/store_failure.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

StatusDetail InDoubt() { return {kStoreFailed, {{"outcome", "unknown"}}}; }

}  // namespace

absl::Status StoreFailure(absl::string_view what, const absl::Status& cause) {
  const std::string message = absl::StrCat(
      "store: ", what, ": ", absl::StripPrefix(cause.message(), "store: "));
  if (absl::IsResourceExhausted(cause)) {
    return WithDetail(absl::ResourceExhaustedError(message), {kStoreFull, {}});
  }
  if (absl::IsDataLoss(cause)) {
    return WithDetail(absl::DataLossError(message), {"STORE_DAMAGED", {}});
  }
  if (DetailOf(cause).reason == kStoreOtherVersion) {
    return WithDetail(absl::FailedPreconditionError(message), {kStoreOtherVersion, {}});
  }
  return WithDetail(absl::UnavailableError(message), {kStoreFailed, {}});
}

absl::Status CommitInDoubt(const absl::Status& cause) {
  return WithDetail(StoreFailure("whether the change is stored is not known", cause),
                    InDoubt());
}

bool IsCommitInDoubt(const absl::Status& status) {
  return DetailOf(status) == InDoubt();
}

bool IsStoreFailure(const absl::Status& status) {
  const std::string reason = DetailOf(status).reason;
  return reason == kStoreFailed || reason == kStoreFull;
}

}  // namespace evenpack
