// Which micro-batch of a step goes to which data-parallel rank, and in what order its
// pipeline takes them, so that the predicted step is short.
//
//   Placer placer(shape, data_parallel, SyncDomain::kStep);
//   const Placement placement = placer.Place(times, PlacementBudget(times.size()));
#ifndef EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_H_
#define EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/pipeline/cluster_spec.h"
#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"
#include "server/core/pipeline/pipeline_timer.h"

namespace evenpack {

struct Placement {
  // Of N micro-batches, each once: DP rank r takes those at r * M to r * M + M - 1, in
  // this order.
  std::vector<uint32_t> order;
  // The slowest rank's pipeline (kStep), or that of the slowest passes (kMicroBatch):
  // as the micro-batches were given, and in `order`, which never takes longer. Where it
  // does not take less, `order` is the given one.
  int64_t given_ns = 0;
  int64_t placed_ns = 0;

  friend bool operator==(const Placement&, const Placement&) = default;
};

// Operations that are worth their time: about 8 us for each micro-batch at most.
constexpr uint64_t PlacementBudget(size_t micro_batches) {
  return uint64_t{8192} * micro_batches;
}

// For one shape. Not thread-safe: Place has scratch.
class Placer {
 public:
  // `shape` is valid, data_parallel 1 to 1,024. `shape.micro_batches` are those of one
  // rank.
  Placer(const PipelineShape& shape, uint32_t data_parallel, SyncDomain sync_domain);

  // `times`: N = micro_batches * data_parallel, DP rank r given those at r * M to r * M
  // + M - 1. `operations` bounds the search: passes timed, and exchanges of two
  // micro-batches considered. Beside it the given order is timed, in kMicroBatch also
  // the rows in order of work, and N are sorted.
  //
  // kStep: micro-batches are assigned to ranks (AssignToRanks), ordered (kRankOrders);
  // then, of the slowest rank, two change places, or one is exchanged with that of
  // another rank, as long as both ranks take less than the slowest did. If the budget
  // lasts, the same from an assignment by work alone, and from the given order.
  // kMicroBatch: the i-th micro-batches of all ranks last as long as the slowest of
  // them. Sorted by work and dealt in rows of DP, those that meet are alike; the rows
  // are ordered as the micro-batches of one rank.
  // Where one rank has so few that all orders fit into the budget, all are tried.
  Placement Place(std::span<const PassTime> times, uint64_t operations);

 private:
  // Pipelines of M each side by side.
  Placement PlaceOnRanks(std::span<const PassTime> times, uint64_t operations);
  // One pipeline of rows of DP that meet.
  Placement PlaceRows(std::span<const PassTime> times, uint64_t operations);

  const PipelineShape shape_;
  const uint32_t data_parallel_;
  const SyncDomain sync_domain_;
  PipelineTimer timer_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_H_
