// Requests that take a job back, as the engine's commands.
#ifndef EVENPACK_SERVER_SERVICE_REWIND_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_REWIND_CONVERSION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/service/cost_profile_conversion.h"

namespace evenpack::v1 {
class RewindJobRequest;
class SkipDocumentsRequest;
}  // namespace evenpack::v1

namespace evenpack {

// RewindJob or RewindToCheckpoint. INVALID_ARGUMENT: neither, both a checkpoint and a
// spec, a spec that is none, or as CheckCheckpoint. `profiles`: as for a spec.
absl::StatusOr<Command> FromProto(const v1::RewindJobRequest& from,
                                  const ProfileFinder& profiles = nullptr);

// `next_step`: what a step that is not set stands for.
SkipDocuments FromProto(const v1::SkipDocumentsRequest& from, uint64_t next_step);

// `status` with the engine's name of a field of RewindJobRequest turned into the API's.
absl::Status InRewindNames(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_REWIND_CONVERSION_H_
