// Why a step took longer than one that is perfectly even: the time beyond it, split
// into its causes, and the rank that was late.
//
// A rank's time is that of its attention, of one layer, over all of its micro-batches
// of the step: predicted from the shard plans, and as it measured it.
#ifndef EVENPACK_SERVER_CORE_BALANCE_STEP_EXCESS_H_
#define EVENPACK_SERVER_CORE_BALANCE_STEP_EXCESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace evenpack {

// Nanoseconds, each from 0 to kMaxRankNs.
struct RankTime {
  int64_t predicted_ns = 0;
  // Computing, waits apart.
  int64_t computed_ns = 0;
  // For what peers sent.
  int64_t waited_ns = 0;
};

// 2^52, 52 days: so that no sum over a group overflows.
inline constexpr int64_t kMaxRankNs = int64_t{1} << 52;

// How much longer or shorter than predicted the ranks computed: the median over ranks
// of computed / predicted, the lower one of an even number. It takes a machine's speed,
// and that a table is of the forward pass alone, out of the comparison of its ranks.
struct TimeScale {
  int64_t computed_ns = 1;
  int64_t predicted_ns = 1;

  // Rounded to the nearest, at most the largest int64_t.
  int64_t Of(int64_t predicted) const;
};

// All of them 0 or more, and
//   packing_ns + cp_sharding_ns + communication_ns + machine_ns == step_ns - even_ns.
//
// A group's time is the computing of its slowest rank, and the least wait of its ranks:
// who waits for a slow peer waits longer than that peer, so what all of them waited is
// the exchange's own. The step takes as long as its slowest group; below, C is what the
// slowest rank of that group computed, and predictions are scaled.
//
//   even         the mean prediction over all ranks of the step
//   packing      from there to the largest mean over the ranks of a group: groups have
//                unequal micro-batches
//   cp_sharding  from there to the largest prediction of a rank: a group's ranks have
//                unequal slices
//   machine      from there to C: what no prediction explains
//   communication  the least wait in the slowest group
//
// What the predictions say beyond C did not come true and counts for nothing: each of
// the first three levels is cut off at C, the even one too.
struct StepExcess {
  int64_t step_ns = 0;
  int64_t even_ns = 0;
  int64_t packing_ns = 0;
  int64_t cp_sharding_ns = 0;
  int64_t communication_ns = 0;
  int64_t machine_ns = 0;
  TimeScale scale;
  // The rank that computed longest beyond its own scaled prediction, the first of such,
  // and how long: 0 where no rank did. It need not be in the slowest group.
  size_t latest_rank = 0;
  int64_t late_ns = 0;
};

// `ranks`: those of one group behind one another, `group_size` of each group, which
// divides their number. None where no rank has both a prediction and a measurement.
std::optional<StepExcess> SplitExcess(std::span<const RankTime> ranks,
                                      size_t group_size);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_BALANCE_STEP_EXCESS_H_
