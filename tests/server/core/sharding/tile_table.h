// A kernel latency table that can be added up in one's head.
#ifndef EVENPACK_TESTS_SERVER_CORE_SHARDING_TILE_TABLE_H_
#define EVENPACK_TESTS_SERVER_CORE_SHARDING_TILE_TABLE_H_

#include "server/core/cost/kernel_latency_table.h"

namespace evenpack {

// 1 ns for each pair of 128 queries and 128 keys, and 5 ns a launch.
inline KernelLatencyTable OneNanosecondPerTile() {
  return *KernelLatencyTable::FromGrid({128, 256}, {128, 256}, {1000, 2000, 1000, 2000},
                                       /*launch_ns=*/5);
}

}  // namespace evenpack

#endif  // EVENPACK_TESTS_SERVER_CORE_SHARDING_TILE_TABLE_H_
