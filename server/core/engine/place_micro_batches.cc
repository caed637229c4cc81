#include "server/core/engine/place_micro_batches.h"

#include <algorithm>
#include <utility>

#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"
#include "server/core/pipeline/placement.h"

namespace evenpack {
namespace {

// About a millisecond.
constexpr uint64_t kMostOperations = uint64_t{1} << 20;
// Ranks that a Placer takes.
constexpr uint32_t kMostRanks = 1024;

PipelineShape ShapeOf(const JobSpec& spec) {
  return {spec.pipeline_parallel, spec.policy.balanced.virtual_stages,
          spec.micro_batches / spec.data_parallel, spec.virtual_pipeline_group};
}

PassTime TimeOf(const MicroBatch& micro_batch, const PipelineShape& shape) {
  const int64_t chunks = int64_t{shape.pipeline_parallel} * shape.virtual_stages;
  PassTime time;
  time.forward_ns = std::min(micro_batch.workload_ns / chunks, kMaxPassNs / 2);
  time.backward_ns = 2 * time.forward_ns;
  return time;
}

}  // namespace

void PlaceMicroBatches(const JobSpec& spec, std::vector<MicroBatch>& micro_batches) {
  if (spec.pipeline_parallel == 1 && spec.data_parallel == 1) return;
  const PipelineShape shape = ShapeOf(spec);
  if (!Validate(shape).ok() || spec.data_parallel > kMostRanks) return;
  std::vector<PassTime> times;
  times.reserve(micro_batches.size());
  for (const MicroBatch& micro_batch : micro_batches) {
    times.push_back(TimeOf(micro_batch, shape));
  }
  Placer placer(shape, spec.data_parallel, spec.policy.balanced.sync_domain);
  const uint64_t operations = std::min(PlacementBudget(times.size()), kMostOperations);
  std::vector<MicroBatch> placed;
  placed.reserve(micro_batches.size());
  for (const uint32_t i : placer.Place(times, operations).order) {
    placed.push_back(std::move(micro_batches[i]));
  }
  micro_batches = std::move(placed);
}

uint64_t InFlightTokens(const JobSpec& spec,
                        std::span<const MicroBatch> micro_batches) {
  const size_t per_rank = spec.micro_batches / spec.data_parallel;
  const size_t in_flight = std::min<size_t>(spec.pipeline_parallel, per_rank);
  uint64_t most = 0;
  for (size_t first = 0; first < micro_batches.size(); first += per_rank) {
    uint64_t tokens = 0;
    for (size_t i = 0; i < per_rank; ++i) {
      tokens += micro_batches[first + i].tokens;
      if (i >= in_flight) tokens -= micro_batches[first + i - in_flight].tokens;
      most = std::max(most, tokens);
    }
  }
  return most;
}

}  // namespace evenpack
