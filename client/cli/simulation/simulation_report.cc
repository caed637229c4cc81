#include "client/cli/simulation/simulation_report.h"

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

std::string Line(std::string_view name, const std::string& value) {
  return absl::StrFormat("%-24s %s\n", std::string(name), value);
}

std::string HybridText(const SimulationReport& report) {
  if (report.input.method.sharding != Sharding::kHybrid) return "";
  const HybridRule& rule = report.hybrid;
  return Line(
      "hybrid rule",
      absl::StrFormat("%d ps a token, %d ps a cut one, within %d ppm", rule.token_ps,
                      rule.cut_token_ps, rule.token_tolerance_ppm));
}

std::string SetupText(const SimulationReport& report) {
  const SimulationSetup& setup = report.input.setup;
  const ClusterSpec& cluster = setup.cluster;
  return absl::StrCat(
      Line("configuration",
           absl::StrFormat("%s: %s on %s GPUs (TP %d, CP %d, PP %d, DP %d)", setup.name,
                           setup.model.name, Grouped(GpuCount(cluster)),
                           cluster.tensor_parallel, cluster.context_parallel,
                           cluster.pipeline_parallel, cluster.data_parallel)),
      Line("micro-batches per step",
           absl::StrFormat("%d of %s tokens, at most %s", setup.micro_batches,
                           Grouped(setup.window), Grouped(setup.max_length))),
      Line("documents", absl::StrFormat("%s, %s of them over the window",
                                        Grouped(report.corpus.documents),
                                        Grouped(report.corpus.documents_over_window))),
      Line("attention = the rest at",
           absl::StrFormat("%.0f tokens", report.crossover_tokens)),
      Line("packing, sharding", MethodName(report.input.method)), HybridText(report),
      Line("placement", std::string(PlacingName(report.input.method.placing))));
}

std::string ExcessText(const SimulationFigures& figures) {
  const auto percent = [&figures](double seconds) {
    return absl::StrFormat("%.1f%%", seconds / figures.bound_seconds * 100);
  };
  return absl::StrCat(percent(figures.packing_seconds), " packing, ",
                      percent(figures.cp_sharding_seconds), " CP sharding, ",
                      percent(figures.pipeline_seconds), " pipeline, ",
                      percent(figures.communication_seconds), " communication");
}

}  // namespace

std::string SimulationJson(const SimulationReport& report) {
  const SimulationFigures& figures = report.figures;
  Json json = SetupJson(report.input.setup);
  json["policy"] = PolicyName(report.input.method.policy);
  json["sharding"] = ShardingName(report.input.method.sharding);
  if (report.input.method.sharding == Sharding::kHybrid) {
    json["hybrid"] = HybridJson(report.hybrid);
  }
  json["placement"] = PlacingName(report.input.method.placing);
  json["crossover_tokens"] = report.crossover_tokens;
  json["crossover_error"] = report.crossover_error;
  json["corpus"] = CorpusJson(report.corpus);
  json["plain_step_seconds"] = report.plain.step_seconds;
  json["speedup"] = report.plain.step_seconds / figures.step_seconds;
  json["bound_speedup"] = report.plain.step_seconds / figures.bound_seconds;
  json.update(FiguresJson(figures));
  json["plain"] = FiguresJson(report.plain);
  return JsonText(json);
}

std::string SimulationText(const SimulationReport& report) {
  const SimulationFigures& figures = report.figures;
  return absl::StrCat(
      SetupText(report),
      Line("step",
           absl::StrFormat("%.3f s, %.3f times as fast as plain packing (%.3f s)",
                           figures.step_seconds,
                           report.plain.step_seconds / figures.step_seconds,
                           report.plain.step_seconds)),
      Line("perfect balance",
           absl::StrFormat("%.3f s: %.1f%% of it reached", figures.bound_seconds,
                           figures.bound_seconds / figures.step_seconds * 100)),
      Line("beyond it", ExcessText(figures)),
      Line("imbalance",
           absl::StrFormat("micro-batches %.3f, CP ranks %.3f, GPUs %.3f (max / mean)",
                           figures.pp_imbalance, figures.cp_imbalance,
                           figures.gpu_imbalance)),
      Line("of the time",
           absl::StrFormat(
               "%.1f%% bubble, %.1f%% exposed communication", figures.bubble * 100,
               figures.exposed_communication_seconds / figures.step_seconds * 100)),
      Line("tokens at once",
           absl::StrFormat("%s in a micro-batch, %s in %d of them (plain: %s)",
                           Grouped(figures.longest_micro_batch),
                           Grouped(figures.in_flight_tokens),
                           report.input.setup.cluster.pipeline_parallel,
                           Grouped(report.plain.in_flight_tokens))),
      Line("a rank's plan", absl::StrFormat("%s bytes a step, decided in %.0f us",
                                            Grouped(figures.plan_bytes),
                                            figures.packing.decide.mean * 1e6)),
      Line("token delay", absl::StrFormat("%.3f global batches, a document at most %d",
                                          figures.packing.token_delay_mean,
                                          figures.packing.document_delay.max)));
}

}  // namespace evenpack
