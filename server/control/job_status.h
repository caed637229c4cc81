// What is told of a job, and what is reported to it.
#ifndef EVENPACK_SERVER_CONTROL_JOB_STATUS_H_
#define EVENPACK_SERVER_CONTROL_JOB_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/digest/digest.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/sessions/subscription.h"

namespace evenpack {

struct StreamPosition {
  // Index among the job's streams.
  size_t index = 0;
  uint64_t next_sequence = 0;
  bool ended = false;
};

struct StreamStatus {
  std::string name;
  uint64_t next_sequence = 0;
  bool ended = false;
  uint64_t buffered_documents = 0;
  uint64_t buffered_tokens = 0;
  SequenceRanges skipped;
};

// A job after one of its steps.
struct JobCheckpoint {
  // For RestoreJob.
  std::string bytes;
  // Of the step.
  Digest128 digest;
};

// evenpack.v1.Job, field by field.
struct JobStatus {
  std::string name;
  std::shared_ptr<const JobSpec> spec;
  uint64_t epoch = 0;
  uint64_t next_step = 0;
  uint64_t durable_steps = 0;
  uint64_t oldest_step = 0;
  Digest128 digest;
  std::vector<StreamStatus> streams;
  uint64_t waiting_documents = 0;
  uint64_t waiting_tokens = 0;
  bool drained = false;
  uint64_t subscribers = 0;
  std::vector<uint64_t> durable_steps_per_rank;
};

// What a new subscription is told first.
struct Subscribed {
  std::shared_ptr<Subscription> subscription;
  std::shared_ptr<const JobSpec> spec;
  uint64_t epoch = 0;
  uint64_t from_step = 0;
  Digest128 previous_digest;
  uint64_t durable_steps = 0;
};

// evenpack.v1.AttentionLatency, each at least 0.
struct MeasuredAttention {
  uint32_t forward_passes = 0;
  uint32_t backward_passes = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t waited_ns = 0;
};

struct MeasuredMicroBatch {
  uint64_t step = 0;
  uint32_t micro_batch = 0;
  // Nanoseconds; 0 where not measured.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  // Only of a report with a cp_rank.
  std::optional<MeasuredAttention> attention = std::nullopt;
};

// evenpack.v1.ReportLatencyRequest.
struct LatencyReport {
  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;
  std::vector<MeasuredMicroBatch> micro_batches;
  double step_wait_seconds = 0;
  uint64_t steps_taken = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_STATUS_H_
