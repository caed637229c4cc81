// The tensors of a pass in an arena, checked.
#ifndef EVENPACK_GPU_WORKER_SESSION_PASS_TENSORS_H_
#define EVENPACK_GPU_WORKER_SESSION_PASS_TENSORS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/executor/prepared_micro_batch.h"

namespace evenpack::worker {

// Of a forward or backward pass, as `submission` has it. INVALID_ARGUMENT naming
// tensor, value and what is accepted: the rows are not those of the micro-batch; a
// tensor does not begin at a multiple of kTensorAlignment, does not lie in the arena,
// or one that the pass writes lies over another.
absl::StatusOr<PassTensors> TensorsOf(const Submission& submission, const Arena& arena,
                                      const PreparedMicroBatch& prepared);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SESSION_PASS_TENSORS_H_
