// Whether the workers of a group exchange rows in the same way.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_VERSION_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_VERSION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack::worker {

// What the address of a rank begins with: so ranks learn of a peer's before they send
// it anything. Rises when what they send each other changes (exchange_terms.h,
// step_agreement.h), which two versions would wait for, or take for what it isn't.
inline constexpr absl::string_view kExchangeVersion = "exchange-2:";

std::string Versioned(absl::string_view address);

// The addresses of a group's ranks without it. FAILED_PRECONDITION naming the first
// that has another.
absl::StatusOr<std::vector<std::string>> Unversioned(
    const std::vector<std::string>& addresses);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_VERSION_H_
