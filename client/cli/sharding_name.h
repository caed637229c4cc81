// The names of the shardings on a command line and in reports.
#ifndef EVENPACK_CLIENT_CLI_SHARDING_NAME_H_
#define EVENPACK_CLIENT_CLI_SHARDING_NAME_H_

#include <array>
#include <string_view>

#include "server/core/document/micro_batch.h"

namespace evenpack {

// By the numbers of Sharding.
inline constexpr std::array<std::string_view, 5> kShardingNames = {
    "per_sequence", "per_document", "adaptive", "contiguous", "hybrid"};

inline std::string_view ShardingName(Sharding sharding) {
  return kShardingNames[static_cast<size_t>(sharding)];
}

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SHARDING_NAME_H_
