// What callers are told of a store that failed.
#ifndef EVENPACK_SERVER_CONTROL_STORE_FAILURE_H_
#define EVENPACK_SERVER_CONTROL_STORE_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// RESOURCE_EXHAUSTED with the reason kStoreFull where the disk is full, DATA_LOSS where
// what is stored is damaged, FAILED_PRECONDITION with the cause's reason
// kStoreOtherVersion, UNAVAILABLE for any other cause: trying again may help. The
// message is "store: WHAT:" and the cause's.
absl::Status StoreFailure(absl::string_view what, const absl::Status& cause);

// That of a commit of which it is not known whether it stands: UNAVAILABLE, with the
// value `outcome`, "unknown", beside the reason kStoreFailed.
absl::Status CommitInDoubt(const absl::Status& cause);
bool IsCommitInDoubt(const absl::Status& status);

// Whether it is one of those for which trying again may help.
bool IsStoreFailure(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_STORE_FAILURE_H_
