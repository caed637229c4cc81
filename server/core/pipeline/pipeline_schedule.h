// The order in which a rank of a pipeline runs its micro-batches' passes: 1F1B and
// interleaved 1F1B (Narayanan et al., "Efficient Large-Scale Language Model Training on
// GPU Clusters Using Megatron-LM", section 2.2), which WLB-LLM uses (section 6).
#ifndef EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_SCHEDULE_H_
#define EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/core/cost/pass.h"

namespace evenpack {

// The layers are cut in pipeline_parallel * virtual_stages runs of equal length. Rank s
// has the runs s, s + pipeline_parallel, ...: its chunks 0, 1, ... A micro-batch passes
// forward through chunk 0 of all ranks in order, then chunk 1, and back the same way.
struct PipelineShape {
  // PP, 1 to 1,024.
  uint32_t pipeline_parallel = 1;
  // Chunks of each rank, 1 to 1,024. 1 is plain 1F1B.
  uint32_t virtual_stages = 1;
  // M, of one data-parallel rank and step. At least 1.
  uint32_t micro_batches = 1;
  // Micro-batches that pass through a chunk before the rank turns to its next one; a
  // divisor of micro_batches. Without effect where virtual_stages is 1; else at least
  // PP, as Megatron-LM asks, or all micro-batches where these are fewer: below it ranks
  // would wait for each other in a circle.
  uint32_t virtual_pipeline_group = 1;

  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

// Most ranks of one kind of parallelism, and most chunks.
inline constexpr uint32_t kMaxParallel = 1024;
// Most passes of all ranks, 2 * micro_batches * virtual_stages * pipeline_parallel.
inline constexpr uint64_t kMaxPasses = uint64_t{1} << 20;

// INVALID_ARGUMENT naming the first bad field; virtual_stages where one micro-batch
// comes to more than kMaxPasses, micro_batches where all of them do.
absl::Status Validate(const PipelineShape& shape);

// The least virtual_pipeline_group of an interleaved schedule of so many stages and
// micro-batches, each at least 1. O(sqrt(micro_batches)).
uint32_t LeastPipelineGroup(uint32_t pipeline_parallel, uint32_t micro_batches);

// One micro-batch through one chunk of the rank.
struct ChunkPass {
  Pass pass = Pass::kForward;
  uint32_t micro_batch = 0;
  uint32_t chunk = 0;

  friend bool operator==(const ChunkPass&, const ChunkPass&) = default;
};

// All passes of `rank` in order, 2 * micro_batches * virtual_stages of them. First as
// many forward passes as let the first backward pass arrive in time, PP - 1 - rank, or
// interleaved 2 * (PP - 1 - rank) + (virtual_stages - 1) * virtual_pipeline_group; then
// a forward and a backward pass in turn; then the backward passes that are left. Ranks
// that run these orders never wait for each other in a circle. `shape` is valid, rank <
// pipeline_parallel.
std::vector<ChunkPass> ScheduleOf(const PipelineShape& shape, uint32_t rank);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_SCHEDULE_H_
