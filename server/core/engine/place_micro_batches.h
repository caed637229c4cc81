// Puts a step's micro-batches on its data-parallel ranks and in order, by the predicted
// pipeline (server/core/pipeline/placement.h).
#ifndef EVENPACK_SERVER_CORE_ENGINE_PLACE_MICRO_BATCHES_H_
#define EVENPACK_SERVER_CORE_ENGINE_PLACE_MICRO_BATCHES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/document/micro_batch.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// A backward pass counts as two forward passes, the loss and sends as nothing: what is
// known of a job is its micro-batches' forward workload. As they are, where the order
// changes nothing (one stage, one rank), or the shape is none that is timed: more
// passes than PipelineShape has, or a group too small for virtual_stages (CheckGiven).
void PlaceMicroBatches(const JobSpec& spec, std::vector<MicroBatch>& micro_batches);

// Most tokens, without padding, of PP consecutive micro-batches of a data-parallel
// rank: as many the first stage keeps activations of at once.
uint64_t InFlightTokens(const JobSpec& spec, std::span<const MicroBatch> micro_batches);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_PLACE_MICRO_BATCHES_H_
