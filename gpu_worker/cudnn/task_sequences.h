// The slices of a call as sequences of plans' runs.
#ifndef EVENPACK_GPU_WORKER_CUDNN_TASK_SEQUENCES_H_
#define EVENPACK_GPU_WORKER_CUDNN_TASK_SEQUENCES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/cudnn/sequence_table.h"

namespace evenpack::worker {

// INVALID_ARGUMENT: the keys of one are not in rows one after another, or those of the
// tasks not all in the same tensor (KeyPlacement::kTogether).
absl::Status CheckKeys(std::span<const AttentionTask> tasks);

// With Mask::kLastAligned.
std::vector<Sequence> ForwardSequences(std::span<const AttentionTask> tasks);

// The queries of a long slice are held against the keys at their own positions, of
// which each sees those to its own, and against the ones before, of which each sees
// all: so that no kernel computes what is masked. Keys of the two are apart; of the
// queries' gradients there are two parts. Short slices, and those with a sliding
// window, are not worth two runs.
struct BackwardSequences {
  // Mask::kCausal; their queries' gradients are in place.
  std::vector<Sequence> own;
  // Mask::kFull; their queries' gradients are to be added.
  std::vector<Sequence> before;
  // Mask::kLastAligned; in place.
  std::vector<Sequence> masked;
  // Rows of the gradients of queries of `before`, which lie as the queries do.
  std::vector<RowMove> query_gradients;
  // One past the last of them.
  int64_t query_gradient_rows = 0;
  // From the rows of a run's gradients of keys, of which slices that share keys have
  // each their own, to the keys' rows; those of one sum rise in `to` and name no row
  // twice.
  std::vector<std::vector<RowMove>> key_gradients;
  int64_t key_gradient_rows = 0;
};
// Slices of at least `split_from` queries are long.
BackwardSequences BackwardSequencesOf(std::span<const AttentionTask> tasks,
                                      bool has_window, int64_t split_from);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_TASK_SEQUENCES_H_
