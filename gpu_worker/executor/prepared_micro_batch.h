// A micro-batch as one rank executes it, and the tensors that it is executed on.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_PREPARED_MICRO_BATCH_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_PREPARED_MICRO_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/executor/kv_layout.h"
#include "server/core/digest/digest.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::worker {

// What does not depend on the tensors. Constant, so that it can be made ahead and used
// again for each layer.
struct PreparedMicroBatch {
  // Index within its step, by which times are told apart; 0 unless whoever prepares a
  // step sets it.
  uint32_t index = 0;
  AttentionShape shape;
  // Of the plan, by which ranks and trainers know that they mean the same.
  Digest128 plan;
  KvLayout layout;
  // Tokens and padding that the rank holds: rows of its tensors.
  uint64_t held_rows = 0;
  // Tokens of the documents that are cut over ranks: those whose keys may travel.
  uint64_t cut_tokens = 0;
  // Of layout.tasks, those that see own keys alone where they are, and the others.
  std::vector<AttentionTask> local_tasks;
  std::vector<AttentionTask> remote_tasks;
  // Local tasks, the first, that a backward pass computes while keys are on their way
  // to the rank; the others while the last gradients are on their way back. Work is
  // divided as the bytes are that come to the rank: keys of its type, and floats for
  // the rows that it sent.
  size_t local_tasks_before = 0;
  // By peer, where gradients of the rows that were sent to it lie when they come back,
  // before they are added up; and how many rows these are together.
  std::vector<std::vector<RowRange>> returned;
  uint64_t returned_rows = 0;
  // By peer, from those rows to the rank's own that they are added to; of the rank
  // itself, from its copies among the received rows. Rising in `to`.
  std::vector<std::vector<RowMove>> summed;

  // Whether some rank's are, in which the rank takes part, or the rank's own copies.
  bool has_received_rows() const {
    return layout.exchanges || layout.received_rows > 0;
  }
};

// `plan` comes from a planner or has passed Validate, `shape` has passed Check;
// rank < plan.context_parallel.
// `placement`: the engine's (attention_engine.h).
PreparedMicroBatch PrepareMicroBatch(
    const ShardPlan& plan, uint32_t rank, const AttentionShape& shape,
    KeyPlacement placement = KeyPlacement::kWhereTheyAre);

// A rank's tensors: THD rows one after another, its tokens in local order and then its
// padding, which is not read. All lie at multiples of an element's bytes, heads on a
// CUDA device at multiples of kDeviceAlignment (rank_form.h).
struct AttentionInput {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
};
// Rows of padding are set to 0.
struct AttentionOutput {
  void* output = nullptr;
  // held_rows x query_heads.
  float* log_sum_exp = nullptr;
};
struct AttentionGradients {
  void* query = nullptr;
  void* key = nullptr;
  void* value = nullptr;
};

struct PassTensors {
  AttentionInput input = {};
  AttentionOutput output = {};
  // Of a backward pass.
  const void* output_gradient = nullptr;
  AttentionGradients gradients = {};
};

// Sets the rows of padding to 0.
absl::Status ClearPadding(const PreparedMicroBatch& prepared, Device& device,
                          void* rows, size_t row_bytes);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_PREPARED_MICRO_BATCH_H_
