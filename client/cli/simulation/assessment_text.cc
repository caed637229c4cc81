#include "client/cli/simulation/assessment_text.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/job_flags.h"
#include "client/cli/json_text.h"
#include "client/cli/sharding_name.h"
#include "client/cli/simulation/figures_json.h"
#include "client/cli/text_table.h"

namespace evenpack {
namespace {

constexpr size_t kBarWidth = 24;

std::string Percent(double share) { return absl::StrFormat("%.1f%%", share * 100); }

// What became of documents over the window, where there are any.
std::string_view OverWindowText(const Assessment& assessment) {
  if (assessment.corpus.documents_over_window == 0) return "";
  return assessment.over_window == OverWindow::kCut
             ? ",\n            and are cut there"
             : ",\n            and left out of what follows (--over-window cut: cut)";
}

std::string CorpusText(const Assessment& assessment) {
  const Corpus& corpus = assessment.corpus;
  const LengthSummary& lengths = assessment.lengths;
  const SimulationSetup& setup = assessment.input.setup;
  return absl::StrFormat(
      "Documents   %s of %s tokens; mean %.0f, median %s, p99 %s, longest %s\n"
      "            %s of the tokens are in documents of a quarter window or more;\n"
      "            %s documents (%s of the tokens) are over the window of %s%s\n",
      Grouped(corpus.documents), Grouped(corpus.tokens), lengths.mean,
      Grouped(lengths.p50), Grouped(lengths.p99), Grouped(lengths.max),
      Percent(lengths.long_token_share), Grouped(corpus.documents_over_window),
      Percent(static_cast<double>(corpus.tokens_over_window) /
              static_cast<double>(corpus.tokens)),
      Grouped(setup.window), OverWindowText(assessment));
}

std::string ClusterText(const Assessment& assessment) {
  const SimulationSetup& setup = assessment.input.setup;
  const ClusterSpec& cluster = setup.cluster;
  // The same of all methods but for the tolerance.
  const HybridRule& rule = assessment.methods.front().hybrid;
  return absl::StrFormat(
      "Cluster     %s on %s GPUs: TP %d, CP %d, PP %d (%d virtual), DP %d; %d\n"
      "            micro-batches a step; attention costs as much as the rest at %.0f "
      "tokens;\n"
      "            hybrid sharding weighs %d ps a token, %d ps a cut one\n",
      setup.model.name, Grouped(GpuCount(cluster)), cluster.tensor_parallel,
      cluster.context_parallel, cluster.pipeline_parallel, cluster.virtual_stages,
      cluster.data_parallel, setup.micro_batches, assessment.crossover_tokens,
      rule.token_ps, rule.cut_token_ps);
}

std::string MethodsText(const Assessment& assessment) {
  TextTable table({{"packing, sharding", kLeft},
                   {"step s"},
                   {"speedup"},
                   {"", kLeft},
                   {"of bound"},
                   {"imbalance"},
                   {"CP"},
                   {"bubble"},
                   {"longest"},
                   {"in flight"},
                   {"delay"}});
  for (const AssessedMethod& row : assessment.methods) {
    const SimulationFigures& figures = row.figures;
    const double gain = assessment.Speedup(figures) - 1;
    table.AddRow(
        {row.name, absl::StrFormat("%.3f", figures.step_seconds),
         absl::StrFormat("%.3f", gain + 1), gain > 0 ? Bar(gain, 1, kBarWidth) : "",
         Percent(figures.bound_seconds / figures.step_seconds),
         absl::StrFormat("%.3f", figures.pp_imbalance),
         absl::StrFormat("%.3f", figures.cp_imbalance), Percent(figures.bubble),
         Grouped(figures.longest_micro_batch), Grouped(figures.in_flight_tokens),
         absl::StrFormat("%.2f", figures.packing.token_delay_mean)});
  }
  return table.ToString();
}

std::string ExcessText(const Assessment& assessment) {
  TextTable table({{"beyond perfect balance", kLeft},
                   {"packing"},
                   {"CP sharding"},
                   {"pipeline"},
                   {"communication"}});
  const auto add = [&table](const std::string& name, const SimulationFigures& figures) {
    const auto share = [&figures](double seconds) {
      return Percent(seconds / figures.bound_seconds);
    };
    table.AddRow({name, share(figures.packing_seconds),
                  share(figures.cp_sharding_seconds), share(figures.pipeline_seconds),
                  share(figures.communication_seconds)});
  };
  add("plain packing", assessment.Plain());
  add(assessment.methods[assessment.best].name, assessment.Best());
  return table.ToString();
}

std::string VerdictText(const Assessment& assessment) {
  const AssessedMethod& best = assessment.methods[assessment.best];
  std::string text = absl::StrFormat(
      "Best is %s: %.3f times as fast as plain packing,\n"
      "%.0f rather than %.0f GPU-hours for 10^12 tokens.\n",
      best.name, assessment.Speedup(best.figures),
      assessment.GpuHoursPerTrillion(best.figures),
      assessment.GpuHoursPerTrillion(assessment.Plain()));
  absl::StrAppend(&text, "Were its cost model wrong (crossover):");
  for (const WrongCost& wrong : assessment.wrong_costs) {
    absl::StrAppend(
        &text, absl::StrFormat(" %+.0f%%: %.3f", wrong.error * 100,
                               assessment.Plain().step_seconds / wrong.step_seconds));
  }
  absl::StrAppend(&text, "\n");
  return text;
}

}  // namespace

std::string AssessmentJson(const Assessment& assessment) {
  const LengthSummary& lengths = assessment.lengths;
  Json json = SetupJson(assessment.input.setup);
  json["crossover_tokens"] = assessment.crossover_tokens;
  json["corpus"] = CorpusJson(assessment.corpus);
  json["lengths"] = {
      {"mean", lengths.mean}, {"p50", lengths.p50},
      {"p90", lengths.p90},   {"p99", lengths.p99},
      {"max", lengths.max},   {"long_token_share", lengths.long_token_share}};
  json["methods"] = Json::array();
  for (const AssessedMethod& row : assessment.methods) {
    Json method = {
        {"name", row.name},
        {"policy", PolicyName(row.method.policy)},
        {"sharding", ShardingName(row.method.sharding)},
        {"placement", PlacingName(row.method.placing)},
        {"speedup", assessment.Speedup(row.figures)},
        {"gpu_hours_per_trillion_tokens", assessment.GpuHoursPerTrillion(row.figures)}};
    if (row.method.sharding == Sharding::kHybrid) {
      method["hybrid"] = HybridJson(row.hybrid);
    }
    method.update(FiguresJson(row.figures));
    json["methods"].push_back(std::move(method));
  }
  json["best"] = assessment.methods[assessment.best].name;
  json["speedup"] = assessment.Speedup(assessment.Best());
  json["wrong_costs"] = Json::array();
  for (const WrongCost& wrong : assessment.wrong_costs) {
    json["wrong_costs"].push_back(
        {{"crossover_error", wrong.error},
         {"speedup", assessment.Plain().step_seconds / wrong.step_seconds}});
  }
  return JsonText(json);
}

std::string AssessmentText(const Assessment& assessment) {
  return absl::StrCat(CorpusText(assessment), ClusterText(assessment), "\n",
                      MethodsText(assessment), "\n", ExcessText(assessment), "\n",
                      VerdictText(assessment));
}

}  // namespace evenpack
