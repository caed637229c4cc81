// A training run's parallelism and machines, as the prediction of its steps takes them.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_CLUSTER_SPEC_H_
#define EVENPACK_SERVER_CORE_PIPELINE_CLUSTER_SPEC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/cost/model_spec.h"
#include "server/core/pipeline/network.h"

namespace evenpack {

// Where data-parallel ranks meet.
enum class SyncDomain : uint8_t {
  kStep,        // at the step's end alone: gradients are reduced once
  kMicroBatch,  // at every pass of every micro-batch: weights are gathered for it
                // (FSDP), or tokens go to experts of other ranks
};

struct ClusterSpec {
  // Ranks of each kind of parallelism, 1 to 1,024 each; experts to 65,536.
  uint32_t tensor_parallel = 1;
  uint32_t context_parallel = 1;
  uint32_t pipeline_parallel = 1;
  uint32_t data_parallel = 1;
  // Of the CP and DP ranks, those that share the experts of a layer: at most as many as
  // there are experts, 1 for a dense model.
  uint32_t expert_parallel = 1;
  // Of the pipeline's schedule: pipeline_schedule.h.
  uint32_t virtual_stages = 1;
  SyncDomain sync_domain = SyncDomain::kStep;

  NetworkSpec network;

  // Dense bf16 FLOP/s of one GPU, 10^9 to 10^18: 989 TFLOPS of an H100 or H200 (data
  // sheet). Of all matrix products but attention, which has a table of its own.
  double peak_flops = 989e12;
  // Share of the peak that matrix products reach, above 0 to 1: 790 TFLOPS of an H200.
  double matmul_fraction = 0.8;
  // Memory bandwidth of one GPU, 1 to 10^15: 3.35 TB/s of an H100 SXM (data sheet).
  double memory_bytes_per_second = 3.35e12;
  // Tensor parallelism's collectives go on while matrix products do (WLB-LLM section
  // 6); what they take beyond these is waited for. Otherwise all of it is.
  bool overlap_tensor_collectives = true;
  // Share of context parallelism's collectives that goes on while others compute, 0 to
  // 1. WLB-LLM's own code runs them on the compute stream: 0.
  double context_overlap = 0;
  // Every layer is computed again before its backward pass.
  bool recompute = false;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;
};

uint64_t GpuCount(const ClusterSpec& cluster);

// INVALID_ARGUMENT naming the first field that is out of its range, or
// expert_parallel where it does not divide context_parallel * data_parallel or exceeds
// the model's experts, tensor_parallel where it exceeds the model's query heads,
// pipeline_parallel where there are fewer layers than chunks.
absl::Status Validate(const ClusterSpec& cluster, const ModelSpec& model);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_CLUSTER_SPEC_H_
