#include "client/cli/simulation/assessment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/progress_bar.h"
#include "server/core/pipeline/micro_batch_cost.h"

namespace evenpack {
namespace {

constexpr double kErrors[] = {-0.5, -0.2, 0.2, 1.0};

SimulationMethod Sharded(SimulationMethod method, Sharding sharding) {
  method.sharding = sharding;
  return method;
}

// Options of policies that a method does not have make no difference.
bool Same(const SimulationMethod& a, const SimulationMethod& b) {
  const bool balanced = a.policy == PolicyKind::kBalanced;
  return a.policy == b.policy && a.sharding == b.sharding && a.placing == b.placing &&
         (!balanced || a.balanced == b.balanced) &&
         a.split_documents == b.split_documents &&
         a.window_batches == b.window_batches &&
         a.token_tolerance_ppm == b.token_tolerance_ppm;
}

std::vector<SimulationMethod> Methods(const SimulationMethod& configured) {
  SimulationMethod fixed = PlainMethod();
  fixed.policy = PolicyKind::kFixedGreedy;
  std::vector<SimulationMethod> methods = {
      Sharded(PlainMethod(), Sharding::kPerSequence),
      Sharded(fixed, Sharding::kPerSequence),
      Sharded(fixed, Sharding::kPerDocument),
      Sharded(WlbMethod(), Sharding::kPerSequence),
      Sharded(WlbMethod(), Sharding::kPerDocument),
      Sharded(WlbMethod(), Sharding::kAdaptive),
      Sharded(WlbMethod(), Sharding::kHybrid),
      BalancedMethod()};
  const bool known = std::any_of(
      methods.begin(), methods.end(),
      [&](const SimulationMethod& method) { return Same(method, configured); });
  if (!known) methods.push_back(configured);
  return methods;
}

std::string NewName(const SimulationMethod& method,
                    const std::vector<AssessedMethod>& others) {
  std::string name = MethodName(method);
  const bool taken =
      std::any_of(others.begin(), others.end(),
                  [&](const AssessedMethod& other) { return other.name == name; });
  if (taken) absl::StrAppend(&name, ", as configured");
  return name;
}

}  // namespace

double Assessment::GpuHoursPerTrillion(const SimulationFigures& figures) const {
  const double tokens =
      static_cast<double>(input.setup.micro_batches) * input.setup.window;
  return figures.step_seconds / tokens * 1e12 *
         static_cast<double>(GpuCount(input.setup.cluster)) / 3600;
}

absl::StatusOr<Assessment> Assess(const SimulateFlags& flags,
                                  std::span<const uint32_t> lengths) {
  const SimulationSetup& setup = flags.input.setup;
  const auto costs = ClusterCosts::Create(setup.model, setup.cluster, setup.attention);
  if (!costs.ok()) return costs.status();
  Assessment assessment;
  assessment.input = flags.input;
  assessment.corpus = FitToWindow(lengths, setup.window, flags.over_window);
  assessment.over_window = flags.over_window;
  assessment.lengths = Summarise(lengths, setup.window);
  const SimulationFeed feed = {assessment.corpus.lengths, flags.feed.passes,
                               flags.feed.seed, flags.feed.steps};
  assessment.crossover_tokens = costs->CrossoverTokens();
  for (const SimulationMethod& method : Methods(flags.input.method)) {
    const std::string name = NewName(method, assessment.methods);
    ProgressBar progress(TerminalOrNull(), name);
    auto figures = Simulate(setup, method, *costs, 1, feed, progress);
    if (!figures.ok()) {
      return WithDropped(figures.status(), assessment.corpus, flags.over_window);
    }
    assessment.methods.push_back(
        {name, method, HybridRuleOf(setup, method, *costs), *std::move(figures)});
  }
  const auto fastest =
      std::min_element(assessment.methods.begin(), assessment.methods.end(),
                       [](const AssessedMethod& a, const AssessedMethod& b) {
                         return a.figures.step_seconds < b.figures.step_seconds;
                       });
  assessment.best = static_cast<size_t>(fastest - assessment.methods.begin());
  for (const double error : kErrors) {
    ProgressBar progress(TerminalOrNull(), "wrong costs");
    const auto figures =
        Simulate(setup, fastest->method, *costs, 1 / (1 + error), feed, progress);
    if (!figures.ok()) {
      return WithDropped(figures.status(), assessment.corpus, flags.over_window);
    }
    assessment.wrong_costs.push_back({error, figures->step_seconds});
  }
  return assessment;
}

}  // namespace evenpack
