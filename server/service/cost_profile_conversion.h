// evenpack.v1.CostProfile: its checks, and how a job's cost takes one up.
#ifndef EVENPACK_SERVER_SERVICE_COST_PROFILE_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_COST_PROFILE_CONVERSION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/service/cost_conversion.h"

namespace evenpack::v1 {
class Cost;
class CostProfile;
}  // namespace evenpack::v1

namespace evenpack {

// The bytes of a profile that has passed CheckProfile. NOT_FOUND: there is none of that
// name.
using ProfileFinder =
    std::function<absl::StatusOr<std::string>(const std::string& name)>;

// All but the name. INVALID_ARGUMENT naming the field, as "forward.q_lens[1]".
absl::Status CheckProfile(const v1::CostProfile& profile);

// Puts the forward latencies of the profile that `cost` names in the place of
// kernel_latency; nothing where it names none. INVALID_ARGUMENT naming the field, as
// "cost.profile": kernel_latency is given too, or the profile was measured with other
// heads than those of the model of a profiled cost. NOT_FOUND: there is no such
// profile, as where `find` is empty.
absl::Status ResolveProfile(const ProfileFinder& find, const CostShape& shape,
                            v1::Cost& cost);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_COST_PROFILE_CONVERSION_H_
