// What one committed request changes for those who look at a job.
#ifndef EVENPACK_SERVER_CONTROL_JOB_CHANGE_H_
#define EVENPACK_SERVER_CONTROL_JOB_CHANGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/core/digest/digest.h"
#include "server/core/document/document.h"
#include "server/core/engine/job_spec.h"
#include "server/sessions/published_step.h"

namespace evenpack {

// A new shape from step `from_step` on.
struct Reshape {
  uint64_t from_step = 0;
  std::shared_ptr<const JobSpec> spec;
  uint64_t epoch = 0;
  // By DP rank.
  std::vector<uint64_t> durable;
};

// Where a job begins that was restored.
struct Restored {
  uint64_t next_step = 0;
  // Of the step before.
  Digest128 digest;
};

struct Accepted {
  size_t stream = 0;
  uint64_t documents = 0;
  uint64_t tokens = 0;
};

struct Marked {
  uint32_t dp_rank = 0;
  uint64_t steps = 0;
};

// What waits to be emitted.
struct WaitingCounts {
  struct Queue {
    uint64_t documents = 0;
    uint64_t tokens = 0;

    friend bool operator==(const Queue&, const Queue&) = default;
  };
  // Delay queues, that of the shortest outliers first.
  std::vector<Queue> queues;
  // In no queue.
  Queue left_over;

  friend bool operator==(const WaitingCounts&, const WaitingCounts&) = default;
};

struct NewStep {
  std::shared_ptr<const PublishedStep> step;
  // Lengths of the documents that it admitted, in merged order.
  std::vector<uint32_t> admitted;
  // Global batches admitted up to and including it.
  uint64_t batches_admitted = 0;
  double decide_seconds = 0;
  // After it.
  WaitingCounts waiting = {};
};

struct JobChange {
  // It is the job's first.
  bool makes_job = false;
  std::optional<Reshape> reshape;
  // Without a reshape: other costs for steps to come. Null: as they were.
  std::shared_ptr<const JobSpec> recosted;
  // With a reshape.
  std::optional<Restored> restored;
  std::optional<Accepted> accepted;
  std::optional<Marked> marked;
  std::vector<NewStep> steps;
  // Steps before it are let go.
  uint64_t oldest_step = 0;
  // After the change.
  bool drained = false;
  bool removed = false;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_CHANGE_H_
