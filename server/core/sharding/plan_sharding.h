// The one entry to all shardings.
#ifndef EVENPACK_SERVER_CORE_SHARDING_PLAN_SHARDING_H_
#define EVENPACK_SERVER_CORE_SHARDING_PLAN_SHARDING_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/hybrid_rule.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// The plan of a micro-batch whose documents have `lengths` tokens, in sequence order.
// context_parallel: 1 to kMaxContextParallel. pad_to: 0 for padding-free, else a
// number of tokens: see PadMultiple. `table` is read for kAdaptive and kHybrid alone,
// and may be empty for the others; `rule` for kHybrid, whose plan may be one of the
// first two (hybrid.h).
// INVALID_ARGUMENT: as ValidateShardRequest, ChooseSharding, ChooseHybrid, or an
// unknown sharding.
absl::StatusOr<ShardPlan> PlanSharding(Sharding sharding,
                                       std::span<const uint32_t> lengths,
                                       uint32_t context_parallel, uint32_t pad_to,
                                       const KernelLatencyTable& table,
                                       const HybridRule& rule = {});

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_PLAN_SHARDING_H_
