// Which keys and values one rank of a context-parallel group needs, where they lie, and
// which rows travel between ranks for that.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_KV_LAYOUT_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_KV_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/communicator/communicator.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::worker {

// A rank's own rows are its tokens in local order (shard_plan.h), then its padding,
// which nothing here touches. Received rows are those that its queries see and others
// own: a key travels to a rank at most once, and none that no query of the rank sees.
// With KeyPlacement::kTogether, copies of own rows are among them.
struct KvLayout {
  // By slice, in local order.
  std::vector<AttentionTask> tasks;
  // The rank's tokens, and the rows it receives.
  uint64_t own_rows = 0;
  uint64_t received_rows = 0;
  // Whether any rank of the group receives rows, so that all take part.
  bool exchanges = false;
  // By peer: which of the rank's own rows go to it, and where in the received rows
  // those from it come to lie. What one sends in this order, the other receives in this
  // order. Empty for the rank itself.
  std::vector<std::vector<RowRange>> send;
  std::vector<std::vector<RowRange>> receive;
  // From own rows to received ones; none is copied twice.
  std::vector<RowMove> copies;
};

// `plan` comes from a planner or has passed Validate; rank < plan.context_parallel.
// Time: O(CP * slices of a rank).
KvLayout LayOut(const ShardPlan& plan, uint32_t rank, const AttentionShape& shape,
                KeyPlacement placement = KeyPlacement::kWhereTheyAre);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_KV_LAYOUT_H_
