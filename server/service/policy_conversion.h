// A job's policy between its message and the engine's form.
#ifndef EVENPACK_SERVER_SERVICE_POLICY_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_POLICY_CONVERSION_H_

#include "absl/status/statusor.h"
#include "evenpack/v1/job.pb.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Puts into the message what its empty fields stand for.
void FillPolicy(v1::Policy& policy);

// `from` has been filled. INVALID_ARGUMENT naming a number that is out of its range
// or an unknown value, from "spec." on.
absl::StatusOr<PolicySpec> FromProto(const v1::Policy& from);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_POLICY_CONVERSION_H_
