#include "client/cli/simulation/simulate_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/balanced_flags.h"
#include "client/cli/document_lengths.h"
#include "client/cli/job_flags.h"
#include "client/cli/progress_bar.h"
#include "client/cli/simulation/corpus.h"
#include "client/cli/simulation/paper_reports.h"
#include "client/cli/simulation/paper_text.h"
#include "client/cli/simulation/simulate_flags.h"
#include "client/cli/simulation/simulated_run.h"
#include "client/cli/simulation/simulation_report.h"
#include "server/core/pipeline/micro_batch_cost.h"

namespace evenpack {
namespace {

using PaperReportRun = absl::StatusOr<std::string> (*)(const PaperFeed& feed,
                                                       bool json);

template <auto simulate, auto json_of, auto text_of>
absl::StatusOr<std::string> RunPaperReport(const PaperFeed& feed, bool json) {
  const auto rows = simulate(feed);
  if (!rows.ok()) return rows.status();
  return json ? json_of(*rows) : text_of(*rows);
}

// As a message lists FindPaperReport's.
constexpr char kPaperReports[] =
    "paper, window-sweep, breakdown, packing-table, cp-figure, ";

// Null where `name` is no report of the paper's tables.
PaperReportRun FindPaperReport(const std::string& name) {
  static const auto* const kReports = new std::map<std::string, PaperReportRun>{
      {"paper", RunPaperReport<SimulatePaper, PaperJson, PaperText>},
      {"window-sweep", RunPaperReport<SimulateWindowSweep, WindowsJson, WindowsText>},
      {"breakdown", RunPaperReport<SimulateBreakdown, SpeedupsJson, SpeedupsText>},
      {"packing-table", RunPaperReport<SimulatePackingTable, PackingJson, PackingText>},
      {"cp-figure", RunPaperReport<SimulateCpFigure, SpeedupsJson, SpeedupsText>}};
  const auto found = kReports->find(name);
  return found == kReports->end() ? nullptr : found->second;
}

// Of a method.
std::vector<std::string> MethodFlags() {
  std::vector<std::string> flags = {"--policy",           "--sharding",
                                    "--hybrid-tolerance", "--window-batches",
                                    "--split-documents",  "--placement"};
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    flags.emplace_back(flag.name);
  }
  return flags;
}

// Those given that a report of the paper's tables has of its own, or no use for: of a
// method it has use where one is `chosen`.
std::vector<std::string> UnusedInReport(const FlagValues& values,
                                        const std::optional<SimulationMethod>& chosen) {
  std::vector<std::string> flags = {"--repeat",         "--seed",
                                    "--over-window",    "--crossover-error",
                                    "--virtual-stages", "--sync-domain"};
  const std::vector<std::string> of_method =
      chosen.has_value() ? UnusedMethodFlags(values, *chosen) : MethodFlags();
  flags.insert(flags.end(), of_method.begin(), of_method.end());
  std::erase_if(flags,
                [&values](const std::string& flag) { return !IsGiven(values, flag); });
  return flags;
}

// What is to be simulated beside the paper's own methods.
absl::StatusOr<std::optional<SimulationMethod>> ReadChosen(const FlagValues& values) {
  const std::vector<std::string> flags = MethodFlags();
  const bool given =
      std::any_of(flags.begin(), flags.end(),
                  [&values](const std::string& flag) { return IsGiven(values, flag); });
  if (!given) return std::nullopt;
  FlagReader reader(values);
  SimulationMethod method = WlbMethod();
  ReadMethod(values, reader, method);
  if (!reader.status().ok()) return reader.status();
  return method;
}

absl::StatusOr<SimulationReport> SimulateOne(SimulateFlags flags,
                                             std::span<const uint32_t> lengths) {
  const SimulationSetup& setup = flags.input.setup;
  const auto costs = ClusterCosts::Create(setup.model, setup.cluster, setup.attention);
  if (!costs.ok()) return costs.status();
  SimulationReport report;
  report.corpus = FitToWindow(lengths, setup.window, flags.over_window);
  report.crossover_tokens = costs->CrossoverTokens();
  report.crossover_error = flags.crossover_error;
  report.hybrid = HybridRuleOf(setup, flags.input.method, *costs);
  const SimulationFeed feed = {report.corpus.lengths, flags.feed.passes,
                               flags.feed.seed, flags.feed.steps};
  ProgressBar progress(TerminalOrNull(), setup.name);
  auto plain = Simulate(setup, PlainMethod(), *costs, 1, feed, progress);
  if (!plain.ok()) return WithDropped(plain.status(), report.corpus, flags.over_window);
  auto figures = Simulate(setup, flags.input.method, *costs,
                          1 / (1 + flags.crossover_error), feed, progress);
  if (!figures.ok()) {
    return WithDropped(figures.status(), report.corpus, flags.over_window);
  }
  report.plain = *std::move(plain);
  report.figures = *std::move(figures);
  report.input = std::move(flags.input);
  return report;
}

}  // namespace

absl::StatusOr<CommandOutput> RunSimulateCommand(const FlagValues& values) {
  FlagReader reader(values);
  const std::string config = reader.Text("--config", "a configuration or a file");
  if (!reader.status().ok()) return reader.status();
  const bool json = IsGiven(values, "--json");
  if (const PaperReportRun report = FindPaperReport(config)) {
    const absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
    if (!feed.ok()) return feed.status();
    const auto documents = ReadDocumentLengths(*feed);
    if (!documents.ok()) return documents.status();
    PaperFeed paper = {documents->lengths, feed->steps};
    if (config == "paper") {
      auto chosen = ReadChosen(values);
      if (!chosen.ok()) return chosen.status();
      paper.chosen = *std::move(chosen);
    }
    auto text = report(paper, json);
    if (!text.ok()) return InBalancedFlagNames(text.status());
    return CommandOutput{
        *std::move(text),
        documents->note + UnusedFlagsNote(UnusedInReport(values, paper.chosen))};
  }
  absl::StatusOr<SimulateFlags> flags = ReadSimulateFlags(values, kPaperReports);
  if (!flags.ok()) return flags.status();
  const auto documents = ReadDocumentLengths(flags->feed);
  if (!documents.ok()) return documents.status();
  const std::string note =
      UnusedFlagsNote(UnusedSimulateFlags(values, flags->input.method));
  const auto report = SimulateOne(*std::move(flags), documents->lengths);
  if (!report.ok()) return InBalancedFlagNames(report.status());
  return CommandOutput{json ? SimulationJson(*report) : SimulationText(*report),
                       documents->note + note};
}

}  // namespace evenpack
