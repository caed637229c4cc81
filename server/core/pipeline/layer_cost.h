// What one layer takes on one GPU beside attention: work in proportion to tokens, and
// the collectives that are waited for. From the model's shape and the machine's rates.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_LAYER_COST_H_
#define EVENPACK_SERVER_CORE_PIPELINE_LAYER_COST_H_

#include <cstdint>

#include "server/core/cost/model_spec.h"
#include "server/core/cost/pass.h"
#include "server/core/pipeline/cluster_spec.h"

namespace evenpack {

// Nanoseconds.
struct LayerCost {
  // Matrix products and element-wise work.
  double compute_ns = 0;
  // Collectives of tensor, context and expert parallelism, as far as nothing hides
  // them.
  double exchange_ns = 0;
};

// `tokens`: of the whole micro-batch, padding included, of which each CP rank holds a
// CP-th, rounded up. Both specs are valid together. bf16: two bytes an element.
//
//   matrix products  floating-point operations / (peak_flops * matmul_fraction);
//                    backward twice as many
//   element-wise     two normalisations, two residual sums, rotary embedding, the
//                    feed-forward network's gate, each reading its inputs and writing
//                    its output once, over the memory's bandwidth; backward twice that
//   TP               activations gathered twice and scattered twice; backward gathers
//                    its inputs twice more
//   CP               K and V of `cut_tokens`, those of documents that more than one CP
//                    rank has, gathered; backward their gradients scattered
//   EP               tokens to the active experts and back, both passes
// With `recompute` backward has forward's cost on top.
LayerCost LayerCostOf(const ModelSpec& model, const ClusterSpec& cluster, Pass pass,
                      uint64_t tokens, uint64_t cut_tokens);
// Where all documents are cut.
inline LayerCost LayerCostOf(const ModelSpec& model, const ClusterSpec& cluster,
                             Pass pass, uint64_t tokens) {
  return LayerCostOf(model, cluster, pass, tokens, tokens);
}

// The loss's matrix product, over the vocabulary, on the last stage.
double HeadNs(const ModelSpec& model, const ClusterSpec& cluster, Pass pass,
              uint64_t tokens);

// The activations of a micro-batch to the next stage, each GPU its part.
double StageSendNs(const ModelSpec& model, const ClusterSpec& cluster, uint64_t tokens);

// Weights of one layer, in bf16, among the ranks of CP and DP that have the same ones
// (of experts, one in expert_parallel): gathered (forward) or their gradients scattered
// (backward).
double LayerWeightsNs(const ModelSpec& model, const ClusterSpec& cluster, Pass pass);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_LAYER_COST_H_
