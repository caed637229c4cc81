// What a rank measured of a step that it executed.
#ifndef EVENPACK_GPU_WORKER_STEPS_STEP_TIMES_H_
#define EVENPACK_GPU_WORKER_STEPS_STEP_TIMES_H_

#include <cstdint>
#include <functional>
#include <map>

namespace evenpack::worker {

// Of one micro-batch. A pass is one layer's; times are nanoseconds over all passes.
struct MicroBatchTimes {
  uint32_t forward_passes = 0;
  uint32_t backward_passes = 0;
  // Computing, waits apart.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  // For peers, in passes of both kinds.
  int64_t waited_ns = 0;

  friend bool operator==(const MicroBatchTimes&, const MicroBatchTimes&) = default;
};

// By PreparedMicroBatch::index.
using StepTimes = std::map<uint32_t, MicroBatchTimes>;

using StepListener = std::function<void(uint64_t step, const StepTimes& times)>;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_STEPS_STEP_TIMES_H_
