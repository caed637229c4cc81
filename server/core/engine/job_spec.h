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
#include "server/core/document/layout.h"
#include "server/core/document/micro_batch.h"
#include "server/core/pipeline/cluster_spec.h"
#include "server/core/sharding/hybrid_rule.h"

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
  kBalanced = 3,     // server/core/packing/release_by_workload.h, balanced.h
};

// Which documents of kBalanced wait.
enum class ReleaseMode : uint8_t {
  kByWorkload = 0,  // server/core/packing/release_by_workload.h, reserve.h
  kByClass = 1,     // Algorithm 1's queues, with thresholds that follow the stream
  kByLevel = 2,     // as kByWorkload, without a reserve
};

// The version of a policy's decisions. It rises when the same documents would be packed
// differently, so that a journal names the code that wrote it.
inline constexpr uint32_t kPolicyVersion = 8;

struct StreamSpec {
  // 1 to 256 bytes, unique in the job.
  std::string name;
  // kInterleave: documents of this stream for each that a stream of weight 1 gives.
  // 1 to 1,000,000.
  uint32_t weight = 1;

  friend bool operator==(const StreamSpec&, const StreamSpec&) = default;
};

// Of kBalanced (docs/balance.md).
struct BalancedSpec {
  ReleaseMode release = ReleaseMode::kByWorkload;
  // Trim and local search after packing (server/core/packing/balanced.h).
  bool finish = true;
  // What it costs that all tokens are delayed by one global batch, in millionths of
  // their workload, where they wait for one on average
  // (server/core/outlier/mean_delay.h): 0 to 1,000,000.
  uint32_t delay_price_ppm = 100000;
  // Steps hold N x L tokens, give or take so many millionths of it, once enough
  // documents wait: 1 to 1,000,000. None: as many as balance asks for. Not kByClass.
  std::optional<uint32_t> token_spread_ppm;
  // The share that long documents (server/core/balance/step_balance.h) have of a step's
  // tokens is the stream's, give or take so many millionths of it, as far as there are
  // such documents: 0 to 1,000,000. None: whatever balance asks for. Not kByClass.
  std::optional<uint32_t> long_share_spread_ppm;
  // Place micro-batches by the predicted pipeline (place_micro_batches.h), of chunks of
  // layers as pipeline_schedule.h has them, 1 to 1,024, with ranks that meet so.
  bool place = true;
  uint32_t virtual_stages = 1;
  SyncDomain sync_domain = SyncDomain::kStep;
  // Tokens, without padding, that PP consecutive micro-batches of a rank do not exceed:
  // at least max_length. 0: as max_length allows.
  uint64_t max_in_flight_tokens = 0;
  // Attention may cost so much more or less than modelled, in 64ths of it: 0 to 63.
  uint32_t attention_error_64ths = 16;

  friend bool operator==(const BalancedSpec&, const BalancedSpec&) = default;
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
  BalancedSpec balanced = {};

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

// What one accepted document counts in max_buffered_bytes.
inline constexpr uint64_t kBufferedDocumentBytes = 64;

// Longest JobSpec::description, in bytes.
inline constexpr size_t kMaxDescriptionBytes = size_t{1} << 20;

// Micro-batches of a step times ranks that share each: of each there is a load, and
// what it took, for each step that is kept.
inline constexpr uint32_t kMaxRankMicroBatches = uint32_t{1} << 20;

// Knots of the workload's curve (cost/length_curve.h) within a window, at least:
// between two the cost is linear, so that shorter documents would be balanced by their
// tokens.
inline constexpr uint32_t kLeastKnots = 32;

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
  // TP and PP, 1 to 1,024 each.
  uint32_t tensor_parallel = 1;
  uint32_t pipeline_parallel = 1;
  // Micro-batches that an interleaved pipeline schedule takes together: 1 to 65,536,
  // and a divisor of micro_batches / data_parallel. With virtual_stages at least PP, or
  // all of a rank's micro-batches where these are fewer (CheckGiven); kept jobs that
  // have less are not placed by the pipeline.
  uint32_t virtual_pipeline_group = 1;
  // EP, 1 to 65,536.
  uint32_t expert_parallel = 1;
  // L, in tokens.
  uint32_t window = 1;
  // S_max >= L: tokens that no micro-batch exceeds, padding included. With fewer than
  // kLeastKnots knots in a window (some 128 windows) only that of a kept job.
  uint32_t max_length = 1;

  PolicySpec policy;
  // Cut documents longer than max_length at it, rather than refuse them.
  bool split_overlong = false;
  // D: global batches that may be admitted after a document's own before it is
  // emitted. None: no bound. kFixedGreedy needs at least window_batches - 1, others 0.
  std::optional<uint64_t> max_delay;
  // Waiting tokens, in global batches (N x L), above which nothing new is admitted.
  // kWlb and kBalanced. 0 to 1,000,000.
  double backlog_limit = 4;

  // What the consumer can use: server/core/engine/job_layout.h.
  LayoutSpec layout;
  // One that the layout has.
  Sharding sharding = Sharding::kPerDocument;
  // Read by Sharding::kHybrid alone.
  HybridRule hybrid;

  // Checkpoints that must stay restorable: steps before the oldest of them are let go.
  // 1 to 1,000.
  uint32_t retain_checkpoints = 1;
  // Decided steps beyond the last durable one; no further step is formed. 1 to 2^32.
  uint64_t max_steps_ahead = 1024;

  // What each stream may hold of documents that no step has admitted: one that reached
  // any of these is full (admission_rule.h). Each at least what a step can need:
  // WindowTokens() tokens, as many documents, kBufferedDocumentBytes for each of them.
  // 0: four times what a step can need.
  uint64_t max_buffered_tokens = 0;
  // 0: no bound of its own.
  uint64_t max_buffered_documents = 0;
  uint64_t max_buffered_bytes = 0;

  // Resolved when the job is created or updated, for lengths up to max_length.
  WorkloadTable workload;
  // Needed by Sharding::kAdaptive and kHybrid alone.
  KernelLatencyTable kernel_latency;

  // The spec as its creator wrote it, in bytes that the engine keeps and does not read.
  std::string description;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// N x L.
uint64_t GlobalBatchTokens(const JobSpec& spec);
// Global batches that one decision admits: window_batches for kFixedGreedy, else 1.
uint32_t BatchesPerWindow(const JobSpec& spec);
// The product of the two: the most tokens that a step has to admit.
uint64_t WindowTokens(const JobSpec& spec);

// Whether micro-batches are filled up to max_length, and documents may wait for steps
// of their like: kWlb and kBalanced. The others fill them up to the window.
bool IsVariableLength(PolicyKind kind);

// Delay queues: one per threshold for kWlb, else none.
size_t QueueCount(const PolicySpec& policy);

// FAILED_PRECONDITION: a later program's version of the policy packs the job. Of what
// is read back, before Validate, to which that is out of range.
absl::Status CheckNotNewer(const JobSpec& spec);
// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const JobSpec& spec);
// Likewise, of one that is valid and given anew: jobs that are kept may have been
// created without these bounds.
absl::Status CheckGiven(const JobSpec& spec);
// The part of it that bounds what a step takes: kMaxRankMicroBatches.
absl::Status CheckRankMicroBatches(const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_JOB_SPEC_H_
