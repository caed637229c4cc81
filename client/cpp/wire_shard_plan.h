// Shard plans and slices out of messages, as server/core/sharding has them.
#ifndef EVENPACK_CLIENT_CPP_WIRE_SHARD_PLAN_H_
#define EVENPACK_CLIENT_CPP_WIRE_SHARD_PLAN_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::client {

// The plan of a micro-batch whose documents have `lengths` tokens. Its columns are
// checked as far as ExpandRank relies on them: that the cut is the one promised is the
// server's affair, and that it is the server's the digest's. DATA_LOSS naming the
// field: no plan can look like this.
absl::StatusOr<ShardPlan> ReadShardPlan(const v1::ShardPlan& message,
                                        std::span<const uint32_t> lengths);

// DATA_LOSS naming the field: columns of different length, or a slice that isn't one of
// these documents.
absl::StatusOr<RankSlices> ReadRankSlices(const v1::RankSlices& message,
                                          std::span<const uint32_t> lengths);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_WIRE_SHARD_PLAN_H_
