#include "server/core/pipeline/pipeline_schedule.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// The passes of one direction in order. Backward passes take the chunks from the last.
std::vector<ChunkPass> InOrder(const PipelineShape& shape, Pass pass) {
  const uint32_t chunks = shape.virtual_stages;
  const uint32_t group =
      chunks == 1 ? shape.micro_batches : shape.virtual_pipeline_group;
  std::vector<ChunkPass> passes;
  passes.reserve(size_t{shape.micro_batches} * chunks);
  for (uint32_t first = 0; first < shape.micro_batches; first += group) {
    for (uint32_t i = 0; i < chunks; ++i) {
      const uint32_t chunk = pass == Pass::kForward ? i : chunks - 1 - i;
      for (uint32_t j = 0; j < group; ++j) passes.push_back({pass, first + j, chunk});
    }
  }
  return passes;
}

size_t WarmUpPasses(const PipelineShape& shape, uint32_t rank) {
  const size_t after = shape.pipeline_parallel - 1 - rank;
  if (shape.virtual_stages == 1) return after;
  return 2 * after + size_t{shape.virtual_stages - 1} * shape.virtual_pipeline_group;
}

absl::Status CheckGroup(const PipelineShape& shape) {
  const uint32_t group = shape.virtual_pipeline_group;
  if (group < 1 || shape.micro_batches % group != 0) {
    return InvalidField("virtual_pipeline_group", group,
                        absl::StrCat("a divisor of the ", shape.micro_batches,
                                     " micro-batches of a data-parallel rank"));
  }
  const uint32_t least = std::min(shape.pipeline_parallel, shape.micro_batches);
  if (shape.virtual_stages > 1 && group < least) {
    return InvalidField(
        "virtual_pipeline_group", group,
        absl::StrCat("at least ", least, ", the lesser of pipeline_parallel and the ",
                     "micro-batches of a data-parallel rank, as virtual_stages is ",
                     shape.virtual_stages));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const PipelineShape& shape) {
  absl::Status status =
      CheckRange("pipeline_parallel", shape.pipeline_parallel, 1, kMaxParallel);
  status.Update(CheckRange("virtual_stages", shape.virtual_stages, 1, kMaxParallel));
  if (!status.ok()) return status;
  const uint64_t most_stages = kMaxPasses / 2 / shape.pipeline_parallel;
  if (shape.virtual_stages > most_stages) {
    return InvalidField("virtual_stages", shape.virtual_stages,
                        absl::StrCat("1 to ", most_stages, ", as pipeline_parallel is ",
                                     shape.pipeline_parallel));
  }
  status = CheckRange("micro_batches", uint64_t{shape.micro_batches}, 1,
                      most_stages / shape.virtual_stages);
  if (!status.ok()) return status;
  return CheckGroup(shape);
}

uint32_t LeastPipelineGroup(uint32_t pipeline_parallel, uint32_t micro_batches) {
  if (pipeline_parallel >= micro_batches) return micro_batches;
  uint32_t group = micro_batches;
  for (uint32_t i = 1; uint64_t{i} * i <= micro_batches; ++i) {
    if (micro_batches % i != 0) continue;
    for (const uint32_t divisor : {i, micro_batches / i}) {
      if (divisor >= pipeline_parallel) group = std::min(group, divisor);
    }
  }
  return group;
}

std::vector<ChunkPass> ScheduleOf(const PipelineShape& shape, uint32_t rank) {
  const std::vector<ChunkPass> forward = InOrder(shape, Pass::kForward);
  const std::vector<ChunkPass> backward = InOrder(shape, Pass::kBackward);
  const size_t passes = forward.size();
  const size_t warm_up = std::min(WarmUpPasses(shape, rank), passes);
  std::vector<ChunkPass> schedule;
  schedule.reserve(2 * passes);
  for (size_t i = 0; i < passes + warm_up; ++i) {
    if (i < passes) schedule.push_back(forward[i]);
    if (i >= warm_up) schedule.push_back(backward[i - warm_up]);
  }
  return schedule;
}

}  // namespace evenpack
