#include "gpu_worker/attention/key_tile.h"

#include <algorithm>

namespace evenpack::worker {

void ForEachKeyTile(const AttentionTask& task, const AttentionShape& shape,
                    uint32_t begin, uint32_t end,
                    absl::FunctionRef<void(const KeyRun& tile)> visit) {
  const uint32_t first = shape.FirstKey(begin);
  for (const KeyRun& run : task.keys) {
    uint32_t at = std::max(run.position, first);
    const uint32_t stop = std::min(run.position + run.count, end);
    while (at < stop) {
      const uint32_t count = std::min(stop - at, kKeysPerTile);
      visit({at, count, run.row + (at - run.position), run.received});
      at += count;
    }
  }
}

VisibleKeys VisibleTo(uint32_t position, const KeyRun& tile,
                      const AttentionShape& shape) {
  const uint32_t tile_end = tile.position + tile.count;
  const uint32_t begin =
      std::clamp(shape.FirstKey(position), tile.position, tile_end) - tile.position;
  const uint32_t end =
      std::clamp(position + 1, tile.position, tile_end) - tile.position;
  return {begin, std::max(begin, end)};
}

}  // namespace evenpack::worker
