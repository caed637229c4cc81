// Both ends of a ring, in one process.
#ifndef EVENPACK_TESTS_GPU_WORKER_ARENA_RING_H_
#define EVENPACK_TESTS_GPU_WORKER_ARENA_RING_H_

#include <unistd.h>

#include <atomic>

#include "gpu_worker/arena/arena.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/arena/submission_writer.h"

namespace evenpack::testing {

struct Ring {
  explicit Ring(uint64_t data_bytes = 4096)
      : workers(*worker::Arena::Create(data_bytes)),
        trainers(*worker::Arena::Open(FileDescriptor(dup(workers.descriptor())))),
        reader(workers),
        writer(trainers, [this] { return worker_is_gone.load(); }) {}

  std::atomic<bool> worker_is_gone = false;
  worker::Arena workers;
  worker::Arena trainers;
  worker::SubmissionReader reader;
  worker::SubmissionWriter writer;
};

inline worker::Submission OfStep(uint64_t step, uint64_t ready = 0) {
  worker::Submission submission;
  submission.step = step;
  submission.ready = ready;
  return submission;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_ARENA_RING_H_
