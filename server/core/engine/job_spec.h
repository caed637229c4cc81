// What a job is: its streams, its shape, its policy, its cost. Everything that a
// decision depends on besides the documents.
#ifndef EVENPACK_SERVER_CORE_ENGINE_JOB_SPEC_H_
#define EVENPACK_SERVER_CORE_ENGINE_JOB_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/workload_table.h"
#include "server/core/document/micro_batch.h"

namespace evenpack {

// The numbers of these enums are part of stored formats.
enum class MergeMode : uint8_t {
  kInterleave = 0,  // by weights, in an order that no timing changes
  kArrival = 1,     // as ingests are accepted; the journal keeps the order
};

enum class PolicyKind : uint8_t {
  kOriginal = 0,     // server/core/packing/original.h
  kFixedGreedy = 1,  // server/core/packing/fixed_greedy.h
  kWlb = 2,          // server/core/packing/wlb.h
};

// The version of a policy's decisions. It rises when the same documents would be packed
// differently, so that a journal names the code that wrote it.
inline constexpr uint32_t kPolicyVersion = 1;

struct StreamSpec {
  // 1 to 256 bytes, unique in the job.
  std::string name;
  // kInterleave: documents of this stream for each that a stream of weight 1 gives.
  // 1 to 1,000,000.
  uint32_t weight = 1;

  friend bool operator==(const StreamSpec&, const StreamSpec&) = default;
};

struct PolicySpec {
  PolicyKind kind = PolicyKind::kWlb;
  uint32_t version = kPolicyVersion;
  // kFixedGreedy: global batches that are packed together, 1 to 1,024.
  uint32_t window_batches = 1;
  // kWlb: rising lengths from which documents are outliers and wait; may be empty.
  std::vector<uint32_t> queue_thresholds;
  // kOriginal: cut a document at a micro-batch's end rather than start a new one.
  bool split_documents = false;

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

struct JobSpec {
  // 1 to 1,024 streams. Constant for the job's life, as is `merge`.
  std::vector<StreamSpec> streams;
  MergeMode merge = MergeMode::kInterleave;

  // N, micro-batches per step: 1 to 65,536, a multiple of data_parallel.
  uint32_t micro_batches = 1;
  // DP: how many ranks acknowledge.
  uint32_t data_parallel = 1;
  // CP, 1 to 1,024.
  uint32_t context_parallel = 1;
  // L, in tokens.
  uint32_t window = 1;
  // S_max >= L: tokens that no micro-batch exceeds.
  uint32_t max_length = 1;

  PolicySpec policy;
  // Cut documents longer than max_length at it, rather than refuse them.
  bool split_overlong = false;
  // D: global batches that may be admitted after a document's own before it is
  // emitted. None: no bound. kFixedGreedy needs at least window_batches - 1, others 0.
  std::optional<uint64_t> max_delay;
  // Waiting tokens, in global batches (N x L), above which nothing new is admitted.
  // kWlb. 0 to 1,000,000.
  double backlog_limit = 4;

  // Padding-free (server/core/sharding).
  Sharding sharding = Sharding::kPerDocument;

  // Checkpoints that must stay restorable: steps before the oldest of them are let go.
  // 1 to 1,000.
  uint32_t retain_checkpoints = 1;
  // Decided steps beyond the last durable one; no further step is formed. 1 to 2^32.
  uint64_t max_steps_ahead = 1024;

  // Resolved when the job is created or updated, for lengths up to max_length.
  WorkloadTable workload;
  // Needed by Sharding::kAdaptive alone.
  KernelLatencyTable kernel_latency;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// N x L.
uint64_t GlobalBatchTokens(const JobSpec& spec);
// Global batches that one decision admits: window_batches for kFixedGreedy, else 1.
uint32_t BatchesPerWindow(const JobSpec& spec);

// Delay queues: one per threshold for kWlb, else none.
size_t QueueCount(const PolicySpec& policy);

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_JOB_SPEC_H_
