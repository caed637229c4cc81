#include "client/cli/prefill/prefill_command.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/document_lengths.h"
#include "client/cli/document_stream.h"
#include "client/cli/job_flags.h"
#include "client/cli/prefill/arrival_trace.h"
#include "client/cli/prefill/arrivals_file.h"
#include "client/cli/prefill/prefill_flags.h"
#include "client/cli/prefill/prefill_report.h"
#include "client/cli/prefill/prefill_run.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr uint64_t kMostRequests = std::numeric_limits<uint32_t>::max();

// In the order of the stream, scaled to the nearest token, at least one.
absl::StatusOr<std::vector<uint32_t>> Prompts(const PrefillFlags& flags,
                                              const std::vector<uint32_t>& lengths) {
  DocumentStream stream(lengths, flags.feed.passes, flags.feed.seed,
                        flags.requests.value_or(kMostRequests));
  const uint32_t most = flags.limits.max_length;
  std::vector<uint32_t> prompts;
  prompts.reserve(stream.total());
  while (!stream.AtEnd()) {
    const double scaled = std::round(stream.Next() * flags.length_scale);
    if (scaled > most) {
      return InvalidField(
          absl::StrCat("prompt ", stream.position()),
          absl::StrFormat("%.0f tokens", scaled),
          absl::StrCat("1 to ", most, " tokens, which is --max-length; --length-scale ",
                       "makes prompts shorter"));
    }
    prompts.push_back(static_cast<uint32_t>(std::max(scaled, 1.0)));
  }
  return prompts;
}

absl::StatusOr<std::vector<int64_t>> Arrivals(const PrefillFlags& flags, size_t count) {
  if (!flags.arrivals_file.empty()) return ReadArrivals(flags.arrivals_file, count);
  return DrawArrivals(flags.arrivals, count);
}

PrefillReport DescribeRun(const PrefillFlags& flags) {
  PrefillReport report;
  report.seed = flags.feed.seed;
  report.limits = flags.limits;
  report.max_delay = flags.max_delay;
  if (!flags.arrivals_file.empty()) {
    report.arrivals = flags.arrivals_file;
    return report;
  }
  const bool bursty = flags.arrivals.pattern == ArrivalPattern::kBursty;
  report.arrivals = bursty ? "bursty" : "poisson";
  report.rate = flags.arrivals.rate;
  return report;
}

absl::StatusOr<PrefillReport> Compare(const PrefillFlags& flags,
                                      const std::vector<uint32_t>& lengths) {
  const auto prompts = Prompts(flags, lengths);
  if (!prompts.ok()) return prompts.status();
  const auto arrivals = Arrivals(flags, prompts->size());
  if (!arrivals.ok()) return arrivals.status();
  const auto workload =
      ResolveWorkload(flags.cost, flags.limits.max_length, flags.limits.replicas);
  if (!workload.ok()) return InFlagNames(workload.status());
  const PrefillRequests requests = {*arrivals, *prompts};
  PrefillReport report = DescribeRun(flags);
  report.offered_load = OfferedLoad(requests, flags.limits.replicas, *workload);
  for (const Discipline discipline : flags.disciplines) {
    auto figures =
        RunPrefill(requests, discipline, flags.limits, flags.max_delay, *workload);
    if (!figures.ok()) return figures.status();
    report.rows.push_back({discipline, *std::move(figures)});
  }
  return report;
}

}  // namespace

absl::StatusOr<CommandOutput> RunPrefillCommand(const FlagValues& values) {
  const absl::StatusOr<PrefillFlags> flags = ReadPrefillFlags(values);
  if (!flags.ok()) return flags.status();
  const auto documents = ReadDocumentLengths(flags->feed);
  if (!documents.ok()) return documents.status();
  const absl::StatusOr<PrefillReport> report = Compare(*flags, documents->lengths);
  if (!report.ok()) return report.status();
  return CommandOutput{
      IsGiven(values, "--json") ? PrefillJson(*report) : PrefillText(*report),
      documents->note + UnusedFlagsNote(UnusedInPrefill(values))};
}

}  // namespace evenpack
