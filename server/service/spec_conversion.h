// evenpack.v1.JobSpec as the engine's, and back.
#ifndef EVENPACK_SERVER_SERVICE_SPEC_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_SPEC_CONVERSION_H_

#include "absl/status/statusor.h"
#include "server/core/engine/job_spec.h"
#include "server/service/cost_profile_conversion.h"

namespace evenpack::v1 {
class JobSpec;
}

namespace evenpack {

// Puts the value that "0 means" or "not set means" stands for in its place.
void FillDefaults(v1::JobSpec& spec);

// With defaults filled in and costs resolved, validated; JobSpec::description is the
// spec with its defaults. INVALID_ARGUMENT naming the field as "spec.parallelism.data";
// as ResolveProfile with `profiles` of a cost that names one.
absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& given,
                                  const ProfileFinder& profiles = nullptr);

// The spec that `spec` was made from, with its defaults.
v1::JobSpec DescriptionOf(const JobSpec& spec);

// Whether its payload is by value.
bool TokensTravel(const JobSpec& spec);

// `status` with the engine's name of a field turned into the API's.
absl::Status InSpecNames(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_SPEC_CONVERSION_H_
