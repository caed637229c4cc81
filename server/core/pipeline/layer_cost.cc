#include "server/core/pipeline/layer_cost.h"

#include <algorithm>

#include "server/core/pipeline/network.h"

namespace evenpack {
namespace {

constexpr double kElementBytes = 2;

// Tokens of one CP rank.
double LocalTokens(const ClusterSpec& cluster, uint64_t tokens) {
  const uint64_t ranks = cluster.context_parallel;
  const uint64_t local = tokens / ranks + (tokens % ranks != 0 ? 1 : 0);
  return static_cast<double>(local);
}

double HeadFlopsPerToken(const ModelSpec& model) {
  return 2.0 * model.hidden * model.vocabulary;
}

double FlopsNs(const ClusterSpec& cluster, double flops) {
  return flops * kNsPerSecond / (cluster.peak_flops * cluster.matmul_fraction);
}

double MatmulNs(const ModelSpec& model, const ClusterSpec& cluster, double tokens) {
  const double layer =
      (LinearFlopsPerToken(model) - HeadFlopsPerToken(model)) / model.layers;
  return FlopsNs(cluster, tokens * layer / cluster.tensor_parallel);
}

double ElementwiseNs(const ModelSpec& model, const ClusterSpec& cluster,
                     double tokens) {
  const double hidden = model.hidden;
  const double heads = static_cast<double>(model.query_heads) + model.kv_heads;
  const double ffn =
      static_cast<double>(model.ffn_size) * std::max(model.active_experts, 1U);
  const double normalisation = 2 * (2 * hidden);
  const double residual = 2 * (3 * hidden);
  const double rotary = 2 * heads * model.head_size;
  const double gate = (model.ffn_kind == ModelSpec::kGated ? 3 : 2) * ffn;
  const double bytes = kElementBytes * tokens *
                       (normalisation + residual + rotary + gate) /
                       cluster.tensor_parallel;
  return bytes * kNsPerSecond / cluster.memory_bytes_per_second;
}

// Where `ranks` of context and data parallelism are, neighbours in this order. The
// ranks of DP lie beyond the pipeline's.
GroupPlacement PlaceDataGroup(const ClusterSpec& cluster, uint32_t ranks) {
  const uint32_t inner = std::min(ranks, cluster.context_parallel);
  GroupPlacement group = PlaceGroup(cluster.network, cluster.tensor_parallel, inner);
  group.ranks = ranks;
  if (inner == ranks || group.per_node < inner) return group;
  const uint64_t stride = uint64_t{cluster.tensor_parallel} * cluster.context_parallel *
                          cluster.pipeline_parallel;
  const GroupPlacement outer = PlaceGroup(cluster.network, stride, ranks);
  group.per_node = std::min(ranks, inner * outer.per_node);
  return group;
}

// Those of them that have the same experts.
GroupPlacement PlaceExpertCopies(const ClusterSpec& cluster) {
  const uint32_t all = cluster.context_parallel * cluster.data_parallel;
  const uint32_t per_node = PlaceDataGroup(cluster, all).per_node;
  return {all / cluster.expert_parallel,
          std::max(per_node / cluster.expert_parallel, 1U)};
}

// Of one layer, on all ranks.
double ExpertWeights(const ModelSpec& model) {
  const double matrices = model.ffn_kind == ModelSpec::kGated ? 3 : 2;
  return model.experts * matrices * model.hidden * model.ffn_size;
}

double TensorCollectivesNs(const ModelSpec& model, const ClusterSpec& cluster,
                           Pass pass, double tokens) {
  const GroupPlacement group = PlaceGroup(cluster.network, 1, cluster.tensor_parallel);
  const double bytes = kElementBytes * tokens * model.hidden;
  const double gathers = pass == Pass::kForward ? 2 : 4;
  return gathers * CollectiveNs(cluster.network, Collective::kAllGather, group, bytes) +
         2 * CollectiveNs(cluster.network, Collective::kReduceScatter, group, bytes);
}

double ContextCollectiveNs(const ModelSpec& model, const ClusterSpec& cluster,
                           Pass pass, uint64_t tokens) {
  const GroupPlacement group =
      PlaceGroup(cluster.network, cluster.tensor_parallel, cluster.context_parallel);
  // Below one head a rank, ranks have copies.
  const double heads =
      std::max(static_cast<double>(model.kv_heads) / cluster.tensor_parallel, 1.0);
  const double bytes =
      2 * kElementBytes * static_cast<double>(tokens) * heads * model.head_size;
  const Collective collective =
      pass == Pass::kForward ? Collective::kAllGather : Collective::kReduceScatter;
  return CollectiveNs(cluster.network, collective, group, bytes) *
         (1 - cluster.context_overlap);
}

double ExpertCollectivesNs(const ModelSpec& model, const ClusterSpec& cluster,
                           double tokens) {
  if (model.experts == 0) return 0;
  const GroupPlacement group = PlaceDataGroup(cluster, cluster.expert_parallel);
  const double bytes = kElementBytes * tokens * model.hidden * model.active_experts /
                       cluster.tensor_parallel;
  return 2 * CollectiveNs(cluster.network, Collective::kAllToAll, group, bytes);
}

LayerCost OnePass(const ModelSpec& model, const ClusterSpec& cluster, Pass pass,
                  uint64_t tokens, uint64_t cut_tokens) {
  const double local = LocalTokens(cluster, tokens);
  const double times = pass == Pass::kForward ? 1 : 2;
  const double matmul = times * MatmulNs(model, cluster, local);
  const double tensor = TensorCollectivesNs(model, cluster, pass, local);
  LayerCost cost;
  cost.compute_ns = matmul + times * ElementwiseNs(model, cluster, local);
  const double hidden = cluster.overlap_tensor_collectives ? matmul : 0;
  cost.exchange_ns = std::max(tensor - hidden, 0.0) +
                     ContextCollectiveNs(model, cluster, pass, cut_tokens) +
                     ExpertCollectivesNs(model, cluster, local);
  return cost;
}

}  // namespace

LayerCost LayerCostOf(const ModelSpec& model, const ClusterSpec& cluster, Pass pass,
                      uint64_t tokens, uint64_t cut_tokens) {
  LayerCost cost = OnePass(model, cluster, pass, tokens, cut_tokens);
  if (pass == Pass::kBackward && cluster.recompute) {
    const LayerCost again = OnePass(model, cluster, Pass::kForward, tokens, cut_tokens);
    cost.compute_ns += again.compute_ns;
    cost.exchange_ns += again.exchange_ns;
  }
  return cost;
}

double HeadNs(const ModelSpec& model, const ClusterSpec& cluster, Pass pass,
              uint64_t tokens) {
  const double times = pass == Pass::kForward ? 1 : 2;
  return times *
         FlopsNs(cluster, LocalTokens(cluster, tokens) * HeadFlopsPerToken(model) /
                              cluster.tensor_parallel);
}

double StageSendNs(const ModelSpec& model, const ClusterSpec& cluster,
                   uint64_t tokens) {
  const uint64_t stride = uint64_t{cluster.tensor_parallel} * cluster.context_parallel;
  const GroupPlacement group =
      PlaceGroup(cluster.network, stride, cluster.pipeline_parallel);
  return SendNs(cluster.network, group,
                kElementBytes * LocalTokens(cluster, tokens) * model.hidden /
                    cluster.tensor_parallel);
}

double LayerWeightsNs(const ModelSpec& model, const ClusterSpec& cluster, Pass pass) {
  const double head_and_embedding =
      2.0 * static_cast<double>(model.hidden) * model.vocabulary;
  const double experts = ExpertWeights(model);
  const double others =
      (ParameterCount(model) - head_and_embedding) / model.layers - experts;
  const Collective collective =
      pass == Pass::kForward ? Collective::kAllGather : Collective::kReduceScatter;
  const auto exchange_ns = [&](const GroupPlacement& group, double weights) {
    return CollectiveNs(cluster.network, collective, group,
                        kElementBytes * weights / cluster.tensor_parallel);
  };
  const uint32_t all = cluster.context_parallel * cluster.data_parallel;
  return exchange_ns(PlaceDataGroup(cluster, all), others) +
         exchange_ns(PlaceExpertCopies(cluster), experts / cluster.expert_parallel);
}

}  // namespace evenpack
