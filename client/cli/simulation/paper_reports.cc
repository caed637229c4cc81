#include "client/cli/simulation/paper_reports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/document_stream.h"
#include "client/cli/job_flags.h"
#include "client/cli/pack_run.h"
#include "client/cli/simulation/corpus.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/pipeline/micro_batch_cost.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/plan_sharding.h"

namespace evenpack {
namespace {

constexpr uint64_t kPublishedCrossover = 47000;

SimulationSetup SevenBillion(uint32_t window) {
  SimulationSetup setup = *NamedSetup("7B-128K");
  SetWindow(window, setup);
  return setup;
}

absl::StatusOr<PaperAlternative> Alternative(const SimulationSetup& setup,
                                             bool plain_splits,
                                             const SimulationFeed& feed,
                                             ProgressBar& progress) {
  const absl::StatusOr<Comparison> comparison =
      Compare(setup, plain_splits, feed, progress);
  if (!comparison.ok()) return comparison.status();
  return PaperAlternative{comparison->FixedSpeedup(), comparison->WlbSpeedup()};
}

absl::StatusOr<PaperRow> SimulateRow(const PaperConfig& config, const PaperFeed& feed) {
  ProgressBar progress(TerminalOrNull(), std::string(config.name));
  const SimulationSetup setup = MakeSetup(config);
  const Corpus dropped = FitToWindow(feed.lengths, config.window, OverWindow::kDrop);
  const SimulationFeed documents = {dropped.lengths, 1, 0, feed.steps};
  auto comparison = Compare(setup, false, documents, progress, feed.chosen);
  if (!comparison.ok()) return comparison.status();
  const auto split = Alternative(setup, true, documents, progress);
  if (!split.ok()) return split.status();
  SimulationSetup two_stages = setup;
  two_stages.cluster.virtual_stages = 2;
  const auto interleaved = Alternative(two_stages, false, documents, progress);
  if (!interleaved.ok()) return interleaved.status();
  PaperRow row = {config, *std::move(comparison), *split, std::nullopt, *interleaved};
  if (dropped.documents_over_window > 0) {
    const Corpus cut = FitToWindow(feed.lengths, config.window, OverWindow::kCut);
    const auto pieces =
        Alternative(setup, false, {cut.lengths, 1, 0, feed.steps}, progress);
    if (!pieces.ok()) return pieces.status();
    row.cut_over_window = *pieces;
  }
  return row;
}

// Forward and backward of one layer for each way to shard the micro-batches.
struct LayerSeconds {
  double per_sequence = 0;
  double per_document = 0;
  double adaptive = 0;
  // The better of the two for each micro-batch.
  double best = 0;
};

absl::StatusOr<double> LayerNs(const ClusterCosts& costs, Sharding sharding,
                               std::span<const uint32_t> lengths) {
  const auto plan = PlanSharding(sharding, lengths, costs.cluster().context_parallel, 0,
                                 costs.forward_attention());
  if (!plan.ok()) return plan.status();
  const MicroBatchCost cost = costs.CostOf(*plan);
  double total = 0;
  for (const PassCost& pass : {cost.forward, cost.backward}) {
    total += static_cast<double>(pass.attention_ns + pass.linear_ns + pass.exchange_ns);
  }
  return total;
}

absl::Status AddMicroBatch(const ClusterCosts& costs, const MicroBatch& micro_batch,
                           LayerSeconds& layer) {
  const std::vector<uint32_t> lengths = LengthsOf(micro_batch.documents);
  const auto sequence = LayerNs(costs, Sharding::kPerSequence, lengths);
  if (!sequence.ok()) return sequence.status();
  const auto document = LayerNs(costs, Sharding::kPerDocument, lengths);
  if (!document.ok()) return document.status();
  const auto adaptive = LayerNs(costs, Sharding::kAdaptive, lengths);
  if (!adaptive.ok()) return adaptive.status();
  layer.per_sequence += *sequence;
  layer.per_document += *document;
  layer.adaptive += *adaptive;
  layer.best += std::min(*sequence, *document);
  return absl::OkStatus();
}

absl::StatusOr<LayerSeconds> SimulateLayer(uint32_t window, const PaperFeed& feed) {
  ProgressBar progress(TerminalOrNull(), "cp-figure");
  SimulationSetup setup = SevenBillion(window);
  setup.cluster.context_parallel = 4;
  const auto costs = ClusterCosts::Create(setup.model, setup.cluster, {});
  if (!costs.ok()) return costs.status();
  const auto spec = MakeSimulatedJob(setup, PlainMethod(), *costs, 1);
  if (!spec.ok()) return spec.status();
  const Corpus corpus = FitToWindow(feed.lengths, window, OverWindow::kDrop);
  if (corpus.lengths.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no document is at most ", window,
                                                      " tokens, which is the window"));
  }
  DocumentStream stream(corpus.lengths, 1, 0);
  LayerSeconds layer;
  StepHooks hooks;
  hooks.observe = [&](const StepDecided& decided) {
    absl::Status status;
    for (const MicroBatch& micro_batch : decided.step.micro_batches) {
      if (status.ok()) status = AddMicroBatch(*costs, micro_batch, layer);
    }
    return status;
  };
  const auto packed = RunPack(*spec, stream, feed.steps, progress, hooks);
  if (!packed.ok()) return packed.status();
  return layer;
}

struct PackingMethod {
  std::string name;
  double published;
  PolicyKind policy;
  uint32_t window_batches;
  std::vector<uint32_t> thresholds;
};

std::vector<PackingMethod> PackingMethods() {
  constexpr auto kGreedy = PolicyKind::kFixedGreedy;
  constexpr auto kWlb = PolicyKind::kWlb;
  return {{"original", 1.44, PolicyKind::kOriginal, 1, {}},
          {"fixed_greedy, 1 batch", 1.41, kGreedy, 1, {}},
          {"fixed_greedy, 2 batches", 1.22, kGreedy, 2, {}},
          {"fixed_greedy, 4 batches", 1.11, kGreedy, 4, {}},
          {"fixed_greedy, 8 batches", 1.08, kGreedy, 8, {}},
          {"wlb, 1 queue", 1.24, kWlb, 1, {k128K / 8 * 3}},
          {"wlb, 2 queues", 1.05, kWlb, 1, {k128K / 8 * 3, k128K / 4 * 3}},
          {"wlb, 3 queues", 1.05, kWlb, 1, {k128K / 8 * 3, k128K / 2, k128K / 4 * 3}}};
}

absl::StatusOr<PackingRow> SimulatePacking(const PackingMethod& method,
                                           const PaperFeed& feed) {
  JobFlags flags;
  flags.micro_batches = 4;
  flags.window = k128K;
  flags.max_length = IsVariableLength(method.policy)
                         ? VariableLengthDefaults(k128K).max_length
                         : k128K;
  flags.window_batches = method.window_batches;
  flags.queue_thresholds = method.thresholds;
  QuadraticCost cost;
  cost.crossover_tokens = kPublishedCrossover;
  flags.cost = cost;
  const absl::StatusOr<JobSpec> spec = MakeJobSpec(flags, method.policy);
  if (!spec.ok()) return spec.status();
  ProgressBar progress(TerminalOrNull(), method.name);
  const Corpus corpus = FitToWindow(feed.lengths, k128K, OverWindow::kDrop);
  DocumentStream stream(corpus.lengths, 1, 0);
  const auto figures = RunPack(*spec, stream, feed.steps, progress);
  if (!figures.ok()) return figures.status();
  PackingRow row = {method.name, std::nullopt, method.published, figures->decide.mean};
  if (figures->imbalance.has_value()) row.imbalance = figures->imbalance->mean;
  return row;
}

}  // namespace

absl::StatusOr<std::vector<PaperRow>> SimulatePaper(const PaperFeed& feed) {
  std::vector<PaperRow> rows;
  for (const PaperConfig& config : PaperConfigs()) {
    auto row = SimulateRow(config, feed);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

absl::StatusOr<std::vector<WindowRow>> SimulateWindowSweep(const PaperFeed& feed) {
  std::vector<WindowRow> rows;
  for (const PaperWindow& window : PaperWindows()) {
    ProgressBar progress(TerminalOrNull(), "window-sweep");
    const Corpus corpus = FitToWindow(feed.lengths, window.window, OverWindow::kDrop);
    auto comparison = Compare(SevenBillion(window.window), false,
                              {corpus.lengths, 1, 0, feed.steps}, progress);
    if (!comparison.ok()) return comparison.status();
    rows.push_back({window, *std::move(comparison)});
  }
  return rows;
}

absl::StatusOr<std::vector<PublishedSpeedup>> SimulateBreakdown(const PaperFeed& feed) {
  ProgressBar progress(TerminalOrNull(), "breakdown");
  const SimulationSetup setup = SevenBillion(k128K);
  const auto costs = ClusterCosts::Create(setup.model, setup.cluster, {});
  if (!costs.ok()) return costs.status();
  const Corpus corpus = FitToWindow(feed.lengths, k128K, OverWindow::kDrop);
  SimulationMethod per_document = PlainMethod();
  per_document.sharding = Sharding::kPerDocument;
  SimulationMethod adaptive = PlainMethod();
  adaptive.sharding = Sharding::kAdaptive;
  SimulationMethod packing = WlbMethod();
  packing.sharding = Sharding::kPerSequence;
  struct Technique {
    const char* name;
    SimulationMethod method;
    double published;
  };
  const std::array<Technique, 5> techniques = {
      {{"plain", PlainMethod(), 1},
       {"per-document sharding", per_document, 1.02},
       {"adaptive sharding", adaptive, 1.05},
       {"variable-length packing and delay", packing, 1.28},
       {"all", WlbMethod(), 1.33}}};
  std::vector<PublishedSpeedup> rows;
  double plain_seconds = 0;
  for (const Technique& technique : techniques) {
    const auto figures = Simulate(setup, technique.method, *costs, 1,
                                  {corpus.lengths, 1, 0, feed.steps}, progress);
    if (!figures.ok()) return figures.status();
    if (rows.empty()) plain_seconds = figures->step_seconds;
    rows.push_back(
        {technique.name, plain_seconds / figures->step_seconds, technique.published});
  }
  return rows;
}

absl::StatusOr<std::vector<PackingRow>> SimulatePackingTable(const PaperFeed& feed) {
  std::vector<PackingRow> rows;
  for (const PackingMethod& method : PackingMethods()) {
    auto row = SimulatePacking(method, feed);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

absl::StatusOr<std::vector<PublishedSpeedup>> SimulateCpFigure(const PaperFeed& feed) {
  const auto at_64k = SimulateLayer(k64K, feed);
  if (!at_64k.ok()) return at_64k.status();
  const auto at_128k = SimulateLayer(k128K, feed);
  if (!at_128k.ok()) return at_128k.status();
  const auto over = [](const LayerSeconds& layer, double seconds) {
    return layer.per_sequence / seconds;
  };
  return std::vector<PublishedSpeedup>{
      {"64K per_document", over(*at_64k, at_64k->per_document), 1.01},
      {"64K adaptive", over(*at_64k, at_64k->adaptive), 1.05},
      {"64K better of both", over(*at_64k, at_64k->best), 1.07},
      {"128K per_document", over(*at_128k, at_128k->per_document), 1.07},
      {"128K adaptive", over(*at_128k, at_128k->adaptive), 1.10},
      {"128K better of both", over(*at_128k, at_128k->best), 1.11}};
}

}  // namespace evenpack
