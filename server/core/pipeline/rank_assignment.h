// Which micro-batches share a data-parallel rank, before anything is known of their
// order.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_RANK_ASSIGNMENT_H_
#define EVENPACK_SERVER_CORE_PIPELINE_RANK_ASSIGNMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"
#include "server/core/pipeline/search_budget.h"

namespace evenpack {

// What a micro-batch weighs in a pipeline, in nanoseconds.
struct MicroBatchLoad {
  // All its passes on the last pipeline rank, which has the loss.
  int64_t work_ns = 0;
  // A forward and a backward pass, which one pipeline rank after the other has to wait
  // for.
  int64_t crossing_ns = 0;

  friend bool operator==(const MicroBatchLoad&, const MicroBatchLoad&) = default;
};
std::vector<MicroBatchLoad> LoadsOf(const PipelineShape& shape,
                                    std::span<const PassTime> times);

// Positions in `loads`, least work first, ties by position.
std::vector<uint32_t> LightestFirst(std::span<const MicroBatchLoad> loads);

// What a pipeline of these micro-batches takes, by a formula that is right where all
// weigh the same: their work, and the heaviest one's crossing of the other pipeline
// ranks.
int64_t EstimateNs(std::span<const MicroBatchLoad> loads, uint32_t pipeline_parallel);

// Positions in `loads`, each once: those of data-parallel rank r at r * M to r * M + M
// - 1, with M = loads.size() / data_parallel, which divides, so that the greatest
// estimate of a rank is small. Heaviest first each goes to the rank of least work that
// has room; then, as long as the budget lasts and it helps, the exchange of a
// micro-batch of the rank of greatest estimate for one of another that makes the
// greater of their two estimates least. One operation for each exchange considered.
// Ties go to the lowest rank and position.
std::vector<uint32_t> AssignToRanks(std::span<const MicroBatchLoad> loads,
                                    uint32_t data_parallel, uint32_t pipeline_parallel,
                                    SearchBudget& budget);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_RANK_ASSIGNMENT_H_
