// What a step's plan weighs on the wire.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_PLAN_SIZE_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_PLAN_SIZE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Bytes of the evenpack.v1.Step that the first rank of context parallelism of the first
// data-parallel rank receives: its micro-batches with its slices, and the digests of
// all. `spec` is the one that the step was decided under, with its data_parallel.
absl::StatusOr<uint64_t> PlanBytes(const Step& step, const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_PLAN_SIZE_H_
