#include "client/cli/pack_command.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/document_lengths.h"
#include "client/cli/document_stream.h"
#include "client/cli/exact_repacking.h"
#include "client/cli/job_flags.h"
#include "client/cli/pack_run.h"
#include "client/cli/progress_bar.h"
#include "client/cli/report_json.h"
#include "client/cli/report_text.h"
#include "client/cli/reports.h"
#include "client/cli/solver_flags.h"

namespace evenpack {
namespace {

// Runs the job, and packs again what `exact` says.
absl::StatusOr<PackReport> Pack(const JobSpec& spec,
                                std::optional<WorkloadTable> true_costs,
                                const FeedFlags& feed,
                                const std::vector<uint32_t>& lengths,
                                std::optional<ExactRepacking>& exact) {
  ProgressBar progress(TerminalOrNull(), "packing");
  DocumentStream stream(lengths, feed.passes, feed.seed);
  StepHooks hooks;
  hooks.true_costs = std::move(true_costs);
  if (exact.has_value()) {
    hooks.change = [&exact](const JobState& state, StepDecided& decided) {
      exact->Repack(state, decided);
    };
  }
  absl::StatusOr<PackFigures> figures =
      RunPack(spec, stream, feed.steps, progress, hooks);
  if (!figures.ok()) return figures.status();
  PackReport report;
  report.micro_batches = spec.micro_batches;
  report.window = spec.window;
  report.max_length = spec.max_length;
  report.passes = feed.passes;
  report.figures = *std::move(figures);
  if (exact.has_value()) report.solver = exact->Figures();
  return report;
}

absl::Status CheckMode(const FlagValues& values) {
  constexpr std::array<std::string_view, 2> kModes = {"training", "prefill"};
  FlagReader reader(values);
  if (IsGiven(values, "--mode")) reader.OneOf("--mode", kModes);
  return reader.status();
}

}  // namespace

absl::StatusOr<CommandOutput> RunPackCommand(const FlagValues& values) {
  if (absl::Status status = CheckMode(values); !status.ok()) return status;
  const absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  const absl::StatusOr<PackPolicy> policy = ReadPackPolicy(values);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<SolverOptions> options = ReadSolverOptions(values);
  if (!options.ok()) return options.status();
  const absl::StatusOr<JobFlags> job = ReadPackJobFlags(values);
  if (!job.ok()) return job.status();
  absl::StatusOr<JobSpec> spec = MakePackJobSpec(*job, *policy);
  if (!spec.ok()) return spec.status();
  std::optional<WorkloadTable> true_costs;
  if (job->crossover_error != 0) {
    true_costs = spec->workload;
    spec = WithCostError(*std::move(spec), *job);
    if (!spec.ok()) return spec.status();
  }
  const absl::StatusOr<DocumentLengths> documents =
      ReadDocumentLengths(*feed, job->max_length, job->split_overlong);
  if (!documents.ok()) return documents.status();

  std::optional<ExactRepacking> exact;
  if (policy->exact.has_value()) exact.emplace(*policy->exact, *options);
  absl::StatusOr<PackReport> report =
      Pack(*spec, std::move(true_costs), *feed, documents->lengths, exact);
  if (!report.ok()) return report.status();
  report->policy = policy->name;
  return CommandOutput{
      IsGiven(values, "--json") ? PackJson(*report) : PackText(*report),
      documents->note + UnusedFlagsNote(UnusedPackFlags(values, *policy))};
}

}  // namespace evenpack
