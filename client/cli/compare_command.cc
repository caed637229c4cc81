#include "client/cli/compare_command.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/document_lengths.h"
#include "client/cli/document_stream.h"
#include "client/cli/pack_run.h"
#include "client/cli/progress_bar.h"
#include "client/cli/report_json.h"
#include "client/cli/report_text.h"
#include "client/cli/reports.h"

namespace evenpack {
namespace {

PolicyChoice Original(JobFlags flags, bool split_documents) {
  flags.split_documents = split_documents;
  return {split_documents ? "original (split)" : "original (whole)",
          PolicyKind::kOriginal, std::move(flags)};
}

PolicyChoice FixedGreedy(JobFlags flags, uint32_t window_batches) {
  flags.window_batches = window_batches;
  return {absl::StrCat("fixed_greedy (", window_batches,
                       window_batches == 1 ? " batch)" : " batches)"),
          PolicyKind::kFixedGreedy, std::move(flags)};
}

PolicyChoice Wlb(JobFlags flags, std::vector<uint32_t> thresholds) {
  const std::string queues =
      thresholds.empty() ? "no queues" : absl::StrJoin(thresholds, ",");
  flags.queue_thresholds = std::move(thresholds);
  return {absl::StrCat("wlb (", queues, ")"), PolicyKind::kWlb, std::move(flags)};
}

PolicyChoice Balanced(JobFlags flags) {
  return {"balanced", PolicyKind::kBalanced, std::move(flags)};
}

struct ComparedJob {
  PolicyChoice choice;
  JobSpec spec;
};

absl::StatusOr<std::vector<ComparedJob>> MakeJobs(const JobFlags& flags) {
  std::vector<ComparedJob> jobs;
  for (PolicyChoice& choice : ComparedPolicies(flags)) {
    absl::StatusOr<JobSpec> spec = MakeJobSpec(choice.flags, choice.policy);
    if (!spec.ok()) return spec.status();
    jobs.push_back({std::move(choice), *std::move(spec)});
  }
  return jobs;
}

// As many documents as the first `feed.steps` steps take, so that every policy packs
// the same ones.
uint64_t MostDocuments(uint64_t step_tokens, std::span<const uint32_t> lengths,
                       const FeedFlags& feed) {
  DocumentStream stream(lengths, feed.passes, feed.seed);
  if (!feed.steps.has_value()) return stream.total();
  const absl::uint128 wanted = absl::uint128(*feed.steps) * step_tokens;
  absl::uint128 tokens = 0;
  while (!stream.AtEnd() && tokens < wanted) tokens += stream.Next();
  return stream.position();
}

absl::StatusOr<CompareReport> Compare(const std::vector<ComparedJob>& jobs,
                                      std::span<const uint32_t> lengths,
                                      const FeedFlags& feed) {
  CompareReport report;
  report.documents = MostDocuments(GlobalBatchTokens(jobs.front().spec), lengths, feed);
  for (const auto& [choice, spec] : jobs) {
    ProgressBar progress(TerminalOrNull(), choice.name);
    DocumentStream stream(lengths, feed.passes, feed.seed, report.documents);
    absl::StatusOr<PackFigures> figures = RunPack(spec, stream, std::nullopt, progress);
    if (!figures.ok()) return figures.status();
    const bool whole = !spec.policy.split_documents;
    report.rows.push_back(
        {choice.name, whole,
         PackReport{std::string(PolicyName(choice.policy)), spec.micro_batches,
                    spec.window, spec.max_length, feed.passes, *std::move(figures)}});
  }
  return report;
}

}  // namespace

std::vector<PolicyChoice> ComparedPolicies(const JobFlags& flags) {
  std::vector<PolicyChoice> choices = {Original(flags, false), Original(flags, true),
                                       FixedGreedy(flags, 1)};
  if (flags.window_batches > 1) {
    choices.push_back(FixedGreedy(flags, flags.window_batches));
  }
  choices.push_back(Wlb(flags, {}));
  if (!flags.queue_thresholds.empty()) {
    choices.push_back(Wlb(flags, flags.queue_thresholds));
  }
  choices.push_back(Balanced(flags));
  return choices;
}

absl::StatusOr<CommandOutput> RunCompareCommand(const FlagValues& values) {
  const absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  const absl::StatusOr<JobFlags> flags = ReadCompareJobFlags(values);
  if (!flags.ok()) return flags.status();
  const absl::StatusOr<std::vector<ComparedJob>> jobs = MakeJobs(*flags);
  if (!jobs.ok()) return jobs.status();
  const absl::StatusOr<DocumentLengths> documents =
      ReadDocumentLengths(*feed, flags->max_length, flags->split_overlong);
  if (!documents.ok()) return documents.status();
  const absl::StatusOr<CompareReport> report =
      Compare(*jobs, documents->lengths, *feed);
  if (!report.ok()) return report.status();
  return CommandOutput{
      IsGiven(values, "--json") ? CompareJson(*report) : CompareText(*report),
      documents->note + UnusedFlagsNote(UnusedFlags(
                            values, {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                                     PolicyKind::kWlb, PolicyKind::kBalanced}))};
}

}  // namespace evenpack
