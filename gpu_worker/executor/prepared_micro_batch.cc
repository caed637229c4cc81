#include "gpu_worker/executor/prepared_micro_batch.h"

#include <algorithm>

#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

PreparedMicroBatch PrepareMicroBatch(const ShardPlan& plan, uint32_t rank,
                                     const AttentionShape& shape,
                                     KeyPlacement placement) {
  PreparedMicroBatch prepared;
  prepared.shape = shape;
  prepared.layout = LayOut(plan, rank, shape, placement);
  prepared.held_rows = HeldTokens(plan, rank);
  prepared.micro_batch_tokens = plan.tokens();
  for (const AttentionTask& task : prepared.layout.tasks) {
    const bool remote = std::any_of(task.keys.begin(), task.keys.end(),
                                    [](const KeyRun& keys) { return keys.received; });
    (remote ? prepared.remote_tasks : prepared.local_tasks).push_back(task);
  }
  for (const std::vector<RowRange>& sent : prepared.layout.send) {
    const uint64_t rows = RowsIn(sent);
    prepared.returned.push_back({{prepared.returned_rows, rows}});
    prepared.summed.push_back(MovesOf(prepared.returned.back(), sent));
    prepared.returned_rows += rows;
  }
  for (const RowMove& copy : prepared.layout.copies) {
    prepared.summed[rank].push_back({copy.to, copy.from, copy.count});
  }
  return prepared;
}

absl::Status ClearPadding(const PreparedMicroBatch& prepared, Device& device,
                          void* rows, size_t row_bytes) {
  const uint64_t tokens = prepared.layout.own_rows;
  return device.Zero(BytesAfter(rows, tokens * row_bytes), row_bytes, row_bytes,
                     prepared.held_rows - tokens);
}

}  // namespace evenpack::worker
