// Attention kernels that are built for shapes, and run on what fits into those.
#ifndef EVENPACK_GPU_WORKER_CUDNN_ATTENTION_PLAN_H_
#define EVENPACK_GPU_WORKER_CUDNN_ATTENTION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/cuda/cuda_abi.h"
#include "server/core/cost/pass.h"

namespace evenpack::worker {

// Which of a sequence's keys its queries see.
enum class Mask {
  // All.
  kFull,
  // Query i, as many as keys, sees the keys to i.
  kCausal,
  // The last query sees the keys to the last one, the one before it to the one before,
  // and so on, and of these as many as the sliding window has. Backward runs take as
  // long as if nothing were masked.
  kLastAligned,
};

// Lengths are the most that a run may have.
struct PlanShape {
  Pass pass = Pass::kForward;
  Mask mask = Mask::kLastAligned;
  // Heads are those that a run is for.
  AttentionShape attention;
  int64_t sequences = 1;
  // Of one sequence.
  int64_t queries = 1;
  int64_t keys = 1;
  // Of all sequences, with gaps, for the memory that a backward run takes; forward: 0.
  int64_t all_queries = 0;
  int64_t all_keys = 0;
  // Elements from a token's row to the next one's. Outputs and the gradients of queries
  // have those of queries.
  int64_t query_stride = 0;
  int64_t key_stride = 0;
  int64_t log_sum_exp_stride = 0;
  // Backward: of gradients of keys and values.
  int64_t key_gradient_stride = 0;

  friend bool operator==(const PlanShape&, const PlanShape&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const PlanShape& shape) {
    const AttentionShape& of = shape.attention;
    return H::combine(std::move(hash), shape.pass, shape.mask, of.type, of.query_heads,
                      of.kv_heads, of.head_size, of.scale, of.sliding_window,
                      shape.sequences, shape.queries, shape.keys, shape.all_queries,
                      shape.all_keys, shape.query_stride, shape.key_stride,
                      shape.log_sum_exp_stride, shape.key_gradient_stride);
  }
};

// Pointers into a device's memory. By sequence, on the device: lengths, and where rows
// begin, in elements from `query`, `key` and so on. There are PlanShape::sequences of
// each; those that a run doesn't have are of length 0. Offsets have one entry more.
struct PlanTables {
  const int32_t* query_lengths = nullptr;
  const int32_t* key_lengths = nullptr;
  const int64_t* query_offsets = nullptr;
  const int64_t* key_offsets = nullptr;
  const int64_t* log_sum_exp_offsets = nullptr;
  // Backward.
  const int64_t* key_gradient_offsets = nullptr;

  friend bool operator==(const PlanTables&, const PlanTables&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const PlanTables& of) {
    return H::combine(std::move(hash), of.query_lengths, of.key_lengths,
                      of.query_offsets, of.key_offsets, of.log_sum_exp_offsets,
                      of.key_gradient_offsets);
  }
};

struct PlanTensors {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  // Written by a forward run, read by a backward one. What that reads of the sums are
  // rows of its heads alone: cuDNN's own part of the workspace begins behind as many.
  void* output = nullptr;
  float* log_sum_exp = nullptr;
  // Backward. Sequences may share keys; their gradients are written apart. Gradients of
  // queries lie as these do: cuDNN 9.19 sums them by the queries' offsets.
  const void* output_gradient = nullptr;
  void* query_gradient = nullptr;
  void* key_gradient = nullptr;
  void* value_gradient = nullptr;

  friend bool operator==(const PlanTensors&, const PlanTensors&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const PlanTensors& of) {
    return H::combine(std::move(hash), of.query, of.key, of.value, of.output,
                      of.log_sum_exp, of.output_gradient, of.query_gradient,
                      of.key_gradient, of.value_gradient);
  }
};

// Not thread-safe.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;

  // Of the memory that a run needs beside its tensors, aligned as the driver aligns.
  virtual size_t workspace_bytes() const = 0;
  // In the order of the stream; `workspace` is free again after it in that order.
  virtual absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                           void* workspace, cuda::Stream stream) = 0;
};

// Not thread-safe.
class AttentionPlanner {
 public:
  virtual ~AttentionPlanner() = default;

  // INVALID_ARGUMENT naming the field: there is no kernel for one of its passes, which
  // may take as long as Build to find out. OK doesn't promise a plan. Errors of Build
  // that say nothing of the shape.
  virtual absl::Status CheckShape(const AttentionShape& /*shape*/) {
    return absl::OkStatus();
  }
  // Takes about a second where it is the first of its pass, mask and head size, and
  // some 50 ms after that. UNIMPLEMENTED naming the shape: there is no kernel for it.
  virtual absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_ATTENTION_PLAN_H_
