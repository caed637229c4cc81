#include "gpu_worker/executor/prepared_micro_batch.h"

#include <algorithm>
#include <cstring>

#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

PreparedMicroBatch PrepareMicroBatch(const ShardPlan& plan, uint32_t rank,
                                     const AttentionShape& shape) {
  PreparedMicroBatch prepared;
  prepared.shape = shape;
  prepared.layout = LayOut(plan, rank, shape);
  prepared.held_rows = HeldTokens(plan, rank);
  for (const AttentionTask& task : prepared.layout.tasks) {
    const bool remote = std::any_of(task.keys.begin(), task.keys.end(),
                                    [](const KeyRun& keys) { return keys.received; });
    (remote ? prepared.remote_tasks : prepared.local_tasks).push_back(task);
  }
  for (const std::vector<RowRange>& sent : prepared.layout.send) {
    const uint64_t rows = RowsIn(sent);
    prepared.returned.push_back({{prepared.returned_rows, rows}});
    prepared.returned_rows += rows;
  }
  return prepared;
}

void ClearPadding(const PreparedMicroBatch& prepared, void* rows, size_t row_bytes) {
  const uint64_t tokens = prepared.layout.own_rows;
  const uint64_t padding = prepared.held_rows - tokens;
  if (padding == 0) return;
  std::memset(BytesAfter(rows, tokens * row_bytes), 0, padding * row_bytes);
}

}  // namespace evenpack::worker
