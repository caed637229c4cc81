// The keys that a tile of queries sees, a tile at a time.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_KEY_TILE_H_
#define EVENPACK_GPU_WORKER_ATTENTION_KEY_TILE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "gpu_worker/attention/attention_engine.h"

namespace evenpack::worker {

inline constexpr uint32_t kKeysPerTile = 256;

// Calls `visit` for the keys of the task that some query at positions [begin, end)
// sees, in rising position, at most kKeysPerTile at once and none across two runs.
void ForEachKeyTile(const AttentionTask& task, const AttentionShape& shape,
                    uint32_t begin, uint32_t end,
                    absl::FunctionRef<void(const KeyRun& tile)> visit);

// Keys of a tile, numbered from its first.
struct VisibleKeys {
  uint32_t begin = 0;
  // begin where there are none.
  uint32_t end = 0;
};
// Those that the query at `position` sees.
VisibleKeys VisibleTo(uint32_t position, const KeyRun& tile,
                      const AttentionShape& shape);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_KEY_TILE_H_
