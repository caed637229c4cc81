#include "gpu_worker/executor/prepared_micro_batch.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/executor/tensor_views.h"
#include "server/core/sharding/plan_digest.h"

namespace evenpack::worker {
namespace {

// Pairs of a query and a key that it sees, about.
uint64_t PairsOf(const AttentionTask& task) {
  uint64_t keys = 0;
  for (const KeyRun& run : task.keys) keys += run.count;
  const uint64_t queries = task.end - task.begin;
  return queries * (keys - queries / 2);
}

size_t LocalTasksBefore(const PreparedMicroBatch& prepared) {
  const std::vector<AttentionTask>& tasks = prepared.local_tasks;
  uint64_t arrives = 0;
  for (const std::vector<RowRange>& rows : prepared.layout.receive) {
    arrives += RowsIn(rows) * BytesOf(prepared.shape.type);
  }
  const uint64_t comes_back = prepared.returned_rows * sizeof(float);
  if (arrives + comes_back == 0) return tasks.size();
  absl::uint128 pairs = 0;
  for (const AttentionTask& task : tasks) pairs += PairsOf(task);
  const absl::uint128 wanted = pairs * arrives / (arrives + comes_back);
  absl::uint128 before = 0;
  size_t count = 0;
  // As near as whole tasks come.
  while (count < tasks.size() && before + PairsOf(tasks[count]) / 2 < wanted) {
    before += PairsOf(tasks[count++]);
  }
  return count;
}

}  // namespace

PreparedMicroBatch PrepareMicroBatch(const ShardPlan& plan, uint32_t rank,
                                     const AttentionShape& shape,
                                     KeyPlacement placement) {
  PreparedMicroBatch prepared;
  prepared.shape = shape;
  prepared.plan = PlanDigest(plan);
  prepared.layout = LayOut(plan, rank, shape, placement);
  prepared.held_rows = HeldTokens(plan, rank);
  prepared.cut_tokens = CutTokens(plan);
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
  for (std::vector<RowMove>& moves : prepared.summed) SortByTo(moves);
  prepared.local_tasks_before = LocalTasksBefore(prepared);
  return prepared;
}

absl::Status ClearPadding(const PreparedMicroBatch& prepared, Device& device,
                          void* rows, size_t row_bytes) {
  const uint64_t tokens = prepared.layout.own_rows;
  return device.Zero(BytesAfter(rows, tokens * row_bytes), row_bytes, row_bytes,
                     prepared.held_rows - tokens);
}

}  // namespace evenpack::worker
