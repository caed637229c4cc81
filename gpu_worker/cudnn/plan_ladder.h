// Few shapes that plans are built for, so that any call finds one that is there.
#ifndef EVENPACK_GPU_WORKER_CUDNN_PLAN_LADDER_H_
#define EVENPACK_GPU_WORKER_CUDNN_PLAN_LADDER_H_

#include <cstdint>

#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

// Of one run: what cuDNN takes.
inline constexpr int64_t kMostSequences = 1024;

// The least shape on the ladder that has room for this one. Counts of sequences are
// powers of 4, lengths and sums of lengths powers of 2 from 128 on.
PlanShape OnLadder(PlanShape shape);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_PLAN_LADDER_H_
