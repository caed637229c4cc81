#include "client/cli/pack_figures.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace evenpack {
namespace {

using Steps = std::span<const StepBalance>;

template <typename Value>
std::vector<double> Sorted(Steps steps, Value value) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const StepBalance& step : steps) values.push_back(value(step));
  std::sort(values.begin(), values.end());
  return values;
}

double Mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Steps WithoutWarmUp(Steps steps) {
  return steps.size() > kMinStepsForWarmUp ? steps.subspan(kWarmUpSteps) : steps;
}

PackFigures::Imbalance ImbalanceOf(Steps steps) {
  const std::vector<double> degrees =
      Sorted(steps, [](const StepBalance& step) { return step.ImbalanceDegree(); });
  double sum_of_max = 0;
  double sum_of_mean = 0;
  for (const StepBalance& step : steps) {
    sum_of_max += static_cast<double>(step.max_workload_ns);
    sum_of_mean += static_cast<double>(step.total_workload_ns) /
                   static_cast<double>(step.micro_batches);
  }
  return {Mean(degrees), Percentile(degrees, 50), Percentile(degrees, 99),
          degrees.back(), sum_of_mean > 0 ? sum_of_max / sum_of_mean : 1};
}

PackFigures::TokensPerStep TokensOf(Steps steps) {
  const std::vector<double> tokens = Sorted(
      steps, [](const StepBalance& step) { return static_cast<double>(step.tokens); });
  const double mean = Mean(tokens);
  double squares = 0;
  for (const double count : tokens) squares += (count - mean) * (count - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(tokens.size()));
  return {mean, mean > 0 ? deviation / mean : 0, static_cast<uint64_t>(tokens.front()),
          static_cast<uint64_t>(tokens.back())};
}

PackFigures::LongShare LongShareOf(Steps steps) {
  const std::vector<double> shares =
      Sorted(steps, [](const StepBalance& step) { return step.LongDocumentShare(); });
  return {Percentile(shares, 5), Percentile(shares, 50), Percentile(shares, 95)};
}

double LowerBoundMean(Steps steps) {
  return Mean(Sorted(steps, [](const StepBalance& step) { return step.LowerBound(); }));
}

}  // namespace

void PackTally::AddStep(StepKind kind, const StepBalance& balance,
                        double decide_seconds, uint64_t search_operations) {
  if (kind == StepKind::kFullBatch) full_steps_.push_back(balance);
  if (kind == StepKind::kDrain) ++drain_steps_;
  if (kind == StepKind::kBacklog) ++backlog_steps_;
  decide_seconds_.push_back(decide_seconds);
  longest_micro_batch_ = std::max(longest_micro_batch_, balance.longest_micro_batch);
  forward_ns_ += static_cast<double>(balance.max_workload_ns);
  const double mean_ns = static_cast<double>(balance.total_workload_ns) /
                         static_cast<double>(balance.micro_batches);
  even_ns_ += mean_ns;
  lower_bound_ns_ +=
      std::max(static_cast<double>(balance.largest_document_ns), mean_ns);
  if (kind != StepKind::kDrain) {
    max_ns_ += static_cast<double>(balance.max_workload_ns);
    mean_ns_ += mean_ns;
  }
  search_operations_ += static_cast<double>(search_operations);
}

void PackTally::AddPiece(uint32_t tokens, uint64_t delay, bool ends_document) {
  tokens_ += tokens;
  token_delays_ += static_cast<double>(tokens) * static_cast<double>(delay);
  if (ends_document) document_delay_.Add(delay);
}

PackFigures PackTally::Figures() const {
  PackFigures figures;
  figures.steps = full_steps_.size();
  figures.drain_steps = drain_steps_;
  figures.backlog_steps = backlog_steps_;
  figures.longest_micro_batch = longest_micro_batch_;
  figures.token_delay_mean = tokens_ > 0 ? token_delays_ / tokens_ : 0;
  figures.document_delay = {document_delay_.Percentile(50),
                            document_delay_.Percentile(99),
                            document_delay_.Percentile(100)};
  figures.predicted_forward_seconds = forward_ns_ / 1e9;
  if (mean_ns_ > 0) figures.imbalance_weighted_all = max_ns_ / mean_ns_;
  if (even_ns_ > 0) figures.imbalance_weighted_run = forward_ns_ / even_ns_;
  if (!full_steps_.empty()) {
    const Steps measured = WithoutWarmUp(full_steps_);
    figures.imbalance = ImbalanceOf(measured);
    figures.lower_bound_mean = LowerBoundMean(measured);
    figures.long_share = LongShareOf(measured);
    figures.tokens_per_step = TokensOf(full_steps_);
  }
  if (!decide_seconds_.empty()) {
    const auto steps = static_cast<double>(decide_seconds_.size());
    figures.predicted_step_seconds = forward_ns_ / 1e9 / steps;
    figures.step_lower_bound_seconds = lower_bound_ns_ / 1e9 / steps;
    figures.search_operations = search_operations_ / steps;
    std::vector<double> seconds = decide_seconds_;
    std::sort(seconds.begin(), seconds.end());
    figures.decide = {Mean(seconds), Percentile(seconds, 50), Percentile(seconds, 99)};
  }
  return figures;
}

}  // namespace evenpack
