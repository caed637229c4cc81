// What each pass of a micro-batch takes on its context-parallel ranks.
//
//   absl::StatusOr<ClusterCosts> costs = ClusterCosts::Create(model, cluster, {});
//   MicroBatchCost cost = costs->CostOf(plan);
#ifndef EVENPACK_SERVER_CORE_PIPELINE_MICRO_BATCH_COST_H_
#define EVENPACK_SERVER_CORE_PIPELINE_MICRO_BATCH_COST_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/model_spec.h"
#include "server/core/cost/pass.h"
#include "server/core/cost/workload_table.h"
#include "server/core/pipeline/cluster_spec.h"
#include "server/core/sharding/hybrid_rule.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// One pass through one chunk of a pipeline rank, in nanoseconds on one GPU. Each part
// counts as 2^38 ns (275 s) where it takes longer, so that a step's sums fit.
struct PassCost {
  // Attention of the slowest CP rank, for which the others wait, and of the mean one.
  // With the former goes what the linear work of the rank with most tokens is above
  // that of the mean: nothing but under hybrid sharding.
  int64_t attention_ns = 0;
  int64_t mean_attention_ns = 0;
  // Other computing, of a rank with the mean's tokens.
  int64_t linear_ns = 0;
  // Collectives that are waited for.
  int64_t exchange_ns = 0;
  // The loss, on the last chunk alone.
  int64_t head_ns = 0;

  friend bool operator==(const PassCost&, const PassCost&) = default;
};

struct MicroBatchCost {
  // Documents' tokens, without padding.
  uint64_t tokens = 0;
  PassCost forward;
  PassCost backward;
  int64_t send_ns = 0;
  // Attention of both passes on each CP rank; empty for a micro-batch without tokens.
  std::vector<int64_t> rank_attention_ns;

  friend bool operator==(const MicroBatchCost&, const MicroBatchCost&) = default;
};

// The costs of a model on a cluster. Immutable after construction, so any number of
// threads may read one.
class ClusterCosts {
 public:
  // `attention`: the forward pass of one layer on one GPU (KernelLatencyTable); empty:
  // that of the tile model. Backward is the tile model's too, or of a measured forward
  // pass 2.5 times its operations at 0.84 of its speed, as cuDNN's are to each other
  // (docs/simulation.md).
  // INVALID_ARGUMENT: as Validate(ClusterSpec, ModelSpec).
  static absl::StatusOr<ClusterCosts> Create(const ModelSpec& model,
                                             const ClusterSpec& cluster,
                                             KernelLatencyTable attention);

  // `plan` is of context_parallel ranks. Layers with a sliding window take the part of
  // a slice's time that is the part of its pairs within the window. Under hybrid
  // sharding K and V of cut documents alone are gathered, of the others those of all
  // tokens. O(slices).
  MicroBatchCost CostOf(const ShardPlan& plan) const;

  // What a job would decide from: the forward pass of all layers, collectives included,
  // attention spread evenly over the CP ranks and multiplied by `attention_scale`
  // (above 0): other than 1, decisions are made with a wrong model. With `whole_below`,
  // as under hybrid sharding, keys travel of documents of so many tokens and more, and
  // their exchange is the document's; with 0 those of all, in proportion to tokens.
  // INVALID_ARGUMENT: attention_scale, or as ResolveWorkload.
  absl::StatusOr<WorkloadTable> Workload(uint32_t max_tokens, uint32_t micro_batches,
                                         double attention_scale,
                                         uint64_t whole_below = 0) const;

  // What hybrid sharding decides from: both passes of a layer, in proportion to its
  // attention's forward pass.
  HybridRule Hybrid(uint32_t token_tolerance_ppm) const;

  // The length at which a document's attention takes as long as all else, forward; 1 to
  // 2^31 - 1.
  double CrossoverTokens() const;

  // What the weights' gathering and the gradients' scattering add to a step whose
  // micro-batches each take `pass` on average: what is left once the first forward pass
  // and the last backward pass hide what they can, all but one layer at most.
  int64_t StepExchangeNs(int64_t forward_ns, int64_t backward_ns) const;
  // Likewise of each pass of each micro-batch, where ranks meet there.
  int64_t PassExchangeNs(Pass pass, int64_t pass_ns) const;

  const ModelSpec& model() const { return model_; }
  const ClusterSpec& cluster() const { return cluster_; }
  const KernelLatencyTable& forward_attention() const { return forward_attention_; }

 private:
  ClusterCosts(const ModelSpec& model, const ClusterSpec& cluster,
               KernelLatencyTable forward, KernelLatencyTable backward);

  // Adds to rank_attention_ns.
  PassCost CostOf(const ShardPlan& plan, Pass pass,
                  std::vector<int64_t>& rank_attention_ns) const;
  // Of one micro-batch, all layers, forward: the mean CP rank's attention of a document
  // of `length` tokens, and what is in proportion to tokens, of which keys of
  // `cut_tokens` travel.
  double DocumentNs(uint64_t length) const;
  double TokensNs(uint64_t tokens, uint64_t cut_tokens) const;

  ModelSpec model_;
  ClusterSpec cluster_;
  KernelLatencyTable forward_attention_;
  KernelLatencyTable backward_attention_;
  // Layers of a chunk; the model's need not divide.
  double chunk_layers_ = 1;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_MICRO_BATCH_COST_H_
