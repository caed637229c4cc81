#include "server/core/pipeline/micro_batch_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "server/core/cost/cost_spec.h"
#include "server/core/cost/hardware_spec.h"
#include "server/core/document/invalid_field.h"
#include "server/core/pipeline/layer_cost.h"
#include "server/core/pipeline/pipeline_time.h"

namespace evenpack {
namespace {

constexpr double kPsPerNs = 1000;
constexpr double kBackwardOverForward = 2.5 / 0.84;

// The four parts of a pass (attention, other computing, collectives, weights) come to
// what a pipeline's prediction takes.
constexpr int64_t kMaxPartNs = kMaxPassNs / 4;

int64_t Nanoseconds(double value) {
  return std::llround(std::clamp(value, 0.0, static_cast<double>(kMaxPartNs)));
}

// Layers of full attention that take as long as the model's do on queries [begin, end).
double FullLayers(const ModelSpec& model, uint64_t begin, uint64_t end) {
  if (model.window_layers == 0) return model.layers;
  const auto pairs = [&](uint32_t window) {
    return static_cast<double>(AttendedPairs(end, window) -
                               AttendedPairs(begin, window));
  };
  const double share = pairs(model.window) / pairs(0);
  return model.layers - model.window_layers + model.window_layers * share;
}

absl::StatusOr<KernelLatencyTable> BackwardOf(const KernelLatencyTable& forward) {
  std::vector<int64_t> block_ps = forward.block_ps();
  constexpr auto kMost = static_cast<double>(KernelLatencyTable::kMaxBlockPs);
  for (int64_t& block : block_ps) {
    const double backward = static_cast<double>(block) * kBackwardOverForward;
    block = std::llround(std::clamp(backward, -kMost, kMost));
  }
  return KernelLatencyTable::FromGrid(forward.q_lens(), forward.kv_lens(),
                                      std::move(block_ps), forward.launch_ns());
}

}  // namespace

absl::StatusOr<ClusterCosts> ClusterCosts::Create(const ModelSpec& model,
                                                  const ClusterSpec& cluster,
                                                  KernelLatencyTable attention) {
  absl::Status status = Validate(cluster, model);
  if (!status.ok()) return status;
  if (!attention.empty()) {
    absl::StatusOr<KernelLatencyTable> backward = BackwardOf(attention);
    if (!backward.ok()) return backward.status();
    return ClusterCosts(model, cluster, std::move(attention), *std::move(backward));
  }
  // Tiles take the time of a Hopper multiprocessor.
  const absl::StatusOr<HardwareSpec> hopper = NamedHardware("H100");
  if (!hopper.ok()) return hopper.status();
  auto forward = KernelLatencyTable::FromTileModel(
      model, *hopper, cluster.tensor_parallel, Pass::kForward);
  if (!forward.ok()) return forward.status();
  auto backward = KernelLatencyTable::FromTileModel(
      model, *hopper, cluster.tensor_parallel, Pass::kBackward);
  if (!backward.ok()) return backward.status();
  return ClusterCosts(model, cluster, *std::move(forward), *std::move(backward));
}

ClusterCosts::ClusterCosts(const ModelSpec& model, const ClusterSpec& cluster,
                           KernelLatencyTable forward, KernelLatencyTable backward)
    : model_(model),
      cluster_(cluster),
      forward_attention_(std::move(forward)),
      backward_attention_(std::move(backward)),
      chunk_layers_(static_cast<double>(model.layers) / cluster.pipeline_parallel /
                    cluster.virtual_stages) {}

MicroBatchCost ClusterCosts::CostOf(const ShardPlan& plan) const {
  MicroBatchCost cost;
  cost.tokens = plan.tokens();
  if (cost.tokens == 0) return cost;
  std::vector<int64_t>& ranks = cost.rank_attention_ns;
  ranks.resize(plan.context_parallel);
  cost.forward = CostOf(plan, Pass::kForward, ranks);
  // Without what the rank of most tokens is later by, which is in backward's layers.
  const int64_t again_ns = *std::ranges::max_element(ranks);
  if (cluster_.recompute) {
    for (int64_t& rank_ns : ranks) rank_ns *= 2;
  }
  cost.backward = CostOf(plan, Pass::kBackward, ranks);
  if (cluster_.recompute) {
    PassCost& backward = cost.backward;
    backward.attention_ns = std::min(backward.attention_ns + again_ns, kMaxPartNs);
    backward.mean_attention_ns = std::min(
        backward.mean_attention_ns + cost.forward.mean_attention_ns, kMaxPartNs);
  }
  cost.send_ns = Nanoseconds(StageSendNs(model_, cluster_, plan.padded_tokens));
  return cost;
}

PassCost ClusterCosts::CostOf(const ShardPlan& plan, Pass pass,
                              std::vector<int64_t>& rank_attention_ns) const {
  const double chunk = chunk_layers_ / model_.layers;
  const KernelLatencyTable& table =
      pass == Pass::kForward ? forward_attention_ : backward_attention_;
  double slowest = 0;
  double total = 0;
  uint64_t most_held = 0;
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    double rank_ns = static_cast<double>(table.launch_ns()) * model_.layers;
    for (size_t i = 0; i < slices.size(); ++i) {
      const uint32_t begin = slices.begin[i];
      const uint32_t end = slices.end[i];
      rank_ns += static_cast<double>(table.SlicePs(end - begin, end)) / kPsPerNs *
                 FullLayers(model_, begin, end);
    }
    most_held = std::max(most_held, slices.tokens + slices.padding);
    slowest = std::max(slowest, rank_ns);
    total += rank_ns;
    rank_attention_ns[rank] += Nanoseconds(rank_ns * chunk);
  }
  const uint64_t tokens = plan.padded_tokens;
  const bool hybrid = plan.sharding == Sharding::kHybrid;
  const uint64_t cut_tokens = hybrid ? CutTokens(plan) : tokens;
  const LayerCost layer = LayerCostOf(model_, cluster_, pass, tokens, cut_tokens);
  PassCost cost;
  cost.attention_ns = Nanoseconds(slowest * chunk);
  cost.mean_attention_ns = Nanoseconds(total / plan.context_parallel * chunk);
  cost.linear_ns = Nanoseconds(layer.compute_ns * chunk_layers_);
  cost.exchange_ns = Nanoseconds(layer.exchange_ns * chunk_layers_);
  cost.head_ns = Nanoseconds(HeadNs(model_, cluster_, pass, tokens));
  if (hybrid) {
    const LayerCost fullest = LayerCostOf(
        model_, cluster_, pass, most_held * plan.context_parallel, cut_tokens);
    const int64_t uneven_ns = Nanoseconds(fullest.compute_ns * chunk_layers_) +
                              Nanoseconds(fullest.exchange_ns * chunk_layers_) -
                              cost.linear_ns - cost.exchange_ns;
    cost.attention_ns = std::min(cost.attention_ns + uneven_ns, kMaxPartNs);
  }
  return cost;
}

double ClusterCosts::DocumentNs(uint64_t length) const {
  if (length == 0) return 0;
  const auto tokens = static_cast<uint32_t>(length);
  return static_cast<double>(forward_attention_.SlicePs(tokens, tokens)) / kPsPerNs *
         FullLayers(model_, 0, length) / cluster_.context_parallel;
}

double ClusterCosts::TokensNs(uint64_t tokens, uint64_t cut_tokens) const {
  const LayerCost layer =
      LayerCostOf(model_, cluster_, Pass::kForward, tokens, cut_tokens);
  return (layer.compute_ns + layer.exchange_ns) * model_.layers +
         HeadNs(model_, cluster_, Pass::kForward, tokens);
}

absl::StatusOr<WorkloadTable> ClusterCosts::Workload(uint32_t max_tokens,
                                                     uint32_t micro_batches,
                                                     double attention_scale,
                                                     uint64_t whole_below) const {
  // Written so that NaN fails.
  if (!(attention_scale > 0)) {
    return InvalidField("attention_scale", attention_scale, "above 0");
  }
  // Noise of a measured table must not make a longer document cheaper.
  double most_attention = 0;
  const auto attention = [&](uint64_t tokens) {
    double document = DocumentNs(tokens) * attention_scale;
    if (whole_below > 0 && tokens >= whole_below) {
      document += TokensNs(tokens, tokens) - TokensNs(tokens, 0);
    }
    most_attention = std::max(most_attention, document);
    return most_attention;
  };
  // Nor must the rounding of sums make more tokens cheaper.
  double most_linear = 0;
  const auto linear = [&](uint64_t tokens) {
    most_linear = std::max(most_linear, TokensNs(tokens, whole_below > 0 ? 0 : tokens));
    return most_linear;
  };
  return TabulateWorkload(max_tokens, micro_batches, attention, linear);
}

HybridRule ClusterCosts::Hybrid(uint32_t token_tolerance_ppm) const {
  // Lengths at which rates, not starts, count: of a document, and of a micro-batch.
  constexpr uint32_t kDocument = 8192;
  constexpr uint64_t kTokens = 65'536;
  const auto forward =
      static_cast<double>(forward_attention_.SlicePs(kDocument, kDocument));
  const auto backward =
      static_cast<double>(backward_attention_.SlicePs(kDocument, kDocument));
  const double both = forward * (cluster_.recompute ? 2 : 1) + backward;
  double token_ns = 0;
  double cut_token_ns = 0;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const LayerCost whole = LayerCostOf(model_, cluster_, pass, kTokens, 0);
    const LayerCost cut = LayerCostOf(model_, cluster_, pass, kTokens, kTokens);
    token_ns += (whole.compute_ns + whole.exchange_ns) * cluster_.context_parallel;
    cut_token_ns += cut.exchange_ns - whole.exchange_ns;
  }
  const auto picoseconds = [&](double ns) {
    return std::llround(std::clamp(ns / kTokens * kPsPerNs * forward / both, 0.0, 1e8));
  };
  return {token_tolerance_ppm, picoseconds(token_ns), picoseconds(cut_token_ns)};
}

double ClusterCosts::CrossoverTokens() const {
  const auto attention_is_less = [&](uint64_t tokens) {
    return DocumentNs(tokens) < TokensNs(tokens, tokens);
  };
  uint64_t low = 1;
  uint64_t high = uint64_t{1} << 31;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (attention_is_less(middle) ? low : high) = middle;
  }
  return static_cast<double>(low);
}

int64_t ClusterCosts::StepExchangeNs(int64_t forward_ns, int64_t backward_ns) const {
  const double layers = static_cast<double>(model_.layers) / cluster_.pipeline_parallel;
  const auto exposed = [&](Pass pass, int64_t hidden_by) {
    const double layer = LayerWeightsNs(model_, cluster_, pass);
    return std::max(layer, layer * layers - static_cast<double>(hidden_by));
  };
  return Nanoseconds(exposed(Pass::kForward, forward_ns)) +
         Nanoseconds(exposed(Pass::kBackward, backward_ns));
}

int64_t ClusterCosts::PassExchangeNs(Pass pass, int64_t pass_ns) const {
  // Backward gathers the weights too, and scatters the gradients.
  double weights = LayerWeightsNs(model_, cluster_, Pass::kForward) * chunk_layers_;
  if (pass == Pass::kBackward) {
    weights += LayerWeightsNs(model_, cluster_, Pass::kBackward) * chunk_layers_;
  }
  return Nanoseconds(weights - static_cast<double>(pass_ns));
}

}  // namespace evenpack
