#include "client/cli/pack_command.h"

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/document_stream.h"
#include "client/cli/job_flags.h"
#include "client/cli/lengths_file.h"
#include "client/cli/pack_run.h"
#include "client/cli/progress_bar.h"
#include "client/cli/report_json.h"
#include "client/cli/report_text.h"
#include "client/cli/reports.h"

namespace evenpack {

absl::StatusOr<CommandOutput> RunPackCommand(const FlagValues& values) {
  const absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  const absl::StatusOr<PolicyKind> policy = ReadPolicy(values);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<JobFlags> job = ReadPackJobFlags(values);
  if (!job.ok()) return job.status();
  const absl::StatusOr<JobSpec> spec = MakeJobSpec(*job, *policy);
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<std::vector<uint32_t>> lengths =
      ReadLengths(feed->lengths, job->max_length, job->split_overlong);
  if (!lengths.ok()) return lengths.status();

  ProgressBar progress(TerminalOrNull(), "packing");
  DocumentStream stream(*lengths, feed->passes, feed->seed);
  const absl::StatusOr<PackFigures> figures =
      RunPack(*spec, stream, feed->steps, progress);
  if (!figures.ok()) return figures.status();
  const PackReport report = {std::string(PolicyName(*policy)),
                             spec->micro_batches,
                             spec->window,
                             spec->max_length,
                             feed->passes,
                             *figures};
  return CommandOutput{IsGiven(values, "--json") ? PackJson(report) : PackText(report),
                       UnusedFlagsNote(UnusedFlags(values, {*policy}))};
}

}  // namespace evenpack
