// What a rank has executed, and how it stands.
#ifndef EVENPACK_GPU_WORKER_RANK_WORKER_RANK_FIGURES_H_
#define EVENPACK_GPU_WORKER_RANK_WORKER_RANK_FIGURES_H_

#include <cstdint>

#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "gpu_worker/steps/step_times.h"

namespace evenpack::worker {

// Of steps that no rank will do again. Nanoseconds over all passes, as MicroBatchTimes.
struct ExecutedWork {
  uint64_t steps = 0;
  uint64_t micro_batches = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t waited_ns = 0;

  void Add(const StepTimes& step) {
    ++steps;
    micro_batches += step.size();
    for (const auto& [index, times] : step) {
      forward_ns += times.forward_ns;
      backward_ns += times.backward_ns;
      waited_ns += times.waited_ns;
    }
  }
  void Add(const ExecutedWork& other) {
    steps += other.steps;
    micro_batches += other.micro_batches;
    forward_ns += other.forward_ns;
    backward_ns += other.backward_ns;
    waited_ns += other.waited_ns;
  }
};

struct RankFigures {
  ExecutedWork work;
  // Steps that wait prepared.
  uint64_t prepared_steps = 0;
  GroupStanding group;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RANK_WORKER_RANK_FIGURES_H_
