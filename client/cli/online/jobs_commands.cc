#include "client/cli/online/jobs_commands.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/job_flags.h"
#include "client/cli/online/job_report.h"
#include "client/cli/online/spec_file.h"
#include "client/cli/online/spec_flag_table.h"
#include "client/cli/online/spec_flags.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

constexpr char kDefaultStream[] = "default";
constexpr FlagReader::Range kNumbers = {0, std::numeric_limits<uint64_t>::max()};

bool WantsJson(const FlagValues& values) { return IsGiven(values, "--json"); }

std::string ReadJobName(FlagReader& reader) {
  return reader.Text("NAME", "the job's name");
}

void WriteJob(const v1::Job& job, const FlagValues& values,
              const OnlineContext& context) {
  context.out.Write(WantsJson(values) ? JobJson(job) : JobText(job));
}

absl::Status ApplyFlags(const FlagValues& values, const OnlineContext& context,
                        v1::JobSpec& spec) {
  const absl::StatusOr<std::vector<std::string>> unused = ApplySpecFlags(values, spec);
  if (!unused.ok()) return unused.status();
  context.err.Write(UnusedFlagsNote(*unused));
  return absl::OkStatus();
}

absl::Status ReadNewSpec(const FlagValues& values, const OnlineContext& context,
                         v1::JobSpec& spec) {
  const bool from_file = IsGiven(values, "--spec");
  if (from_file) {
    absl::Status status = ReadSpecFile(values.at("--spec"), spec);
    if (!status.ok()) return status;
  }
  if (absl::Status status = ApplyFlags(values, context, spec); !status.ok()) {
    return status;
  }
  if (!from_file && spec.window() == 0) {
    return absl::InvalidArgumentError(
        "--window is missing; accepted: tokens of a micro-batch, or --spec FILE");
  }
  if (spec.streams().empty()) spec.add_streams()->set_name(kDefaultStream);
  return absl::OkStatus();
}

// What an update asks for, read before the server is asked for anything.
struct SpecChange {
  std::optional<v1::JobSpec> file;
  v1::UpdateJobRequest request;
};

absl::StatusOr<SpecChange> ReadSpecChange(const FlagValues& values) {
  FlagReader reader(values);
  SpecChange change;
  change.request.set_name(ReadJobName(reader));
  if (IsGiven(values, "--from-step")) {
    change.request.set_from_step(reader.Integer("--from-step", kNumbers));
  }
  if (IsGiven(values, "--expected-epoch")) {
    change.request.set_expected_epoch(reader.Integer("--expected-epoch", kNumbers));
  }
  if (!reader.status().ok()) return reader.status();
  v1::JobSpec spec;
  if (IsGiven(values, "--spec")) {
    absl::Status status = ReadSpecFile(values.at("--spec"), spec);
    if (!status.ok()) return status;
    change.file = spec;
  }
  // For the errors alone.
  const auto unused = ApplySpecFlags(values, spec);
  if (!unused.ok()) return unused.status();
  return change;
}

// The spec in the request becomes that of the file, if there is one; streams and merge,
// which can't change, need not be in it.
void ReplaceSpec(const SpecChange& change, v1::JobSpec& spec) {
  if (!change.file.has_value()) return;
  v1::JobSpec file = *change.file;
  if (file.streams().empty()) *file.mutable_streams() = spec.streams();
  if (file.merge() == v1::MERGE_MODE_UNSPECIFIED) file.set_merge(spec.merge());
  spec = std::move(file);
}

// A job that is updated loses its subscriptions: not without a reason.
absl::Status CheckAnyChange(const FlagValues& values) {
  if (IsGiven(values, "--spec") || IsGiven(values, "--from-step")) {
    return absl::OkStatus();
  }
  const std::vector<FlagDefinition> flags = SpecFlagDefinitions();
  const bool any = std::any_of(
      flags.begin(), flags.end(),
      [&values](const FlagDefinition& flag) { return IsGiven(values, flag.name); });
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "jobs update: no change is given; accepted: --spec FILE, --from-step K, or flags "
      "of the spec");
}

}  // namespace

absl::Status RunJobsCreate(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = ReadJobName(reader);
  if (!reader.status().ok()) return reader.status();
  v1::JobSpec spec;
  if (absl::Status status = ReadNewSpec(values, context, spec); !status.ok()) {
    return status;
  }
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::Job> job = client->CreateJob(name, spec);
  if (!job.ok()) return job.status();
  WriteJob(*job, values, context);
  return absl::OkStatus();
}

absl::Status RunJobsList(const FlagValues& values, const OnlineContext& context) {
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::ListJobsResponse> jobs = client->ListJobs();
  if (!jobs.ok()) return jobs.status();
  context.out.Write(WantsJson(values) ? JobsJson(*jobs) : JobsText(*jobs));
  return absl::OkStatus();
}

absl::Status RunJobsDescribe(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = ReadJobName(reader);
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::Job> job = client->GetJob(name);
  if (!job.ok()) return job.status();
  WriteJob(*job, values, context);
  return absl::OkStatus();
}

absl::Status RunJobsUpdate(const FlagValues& values, const OnlineContext& context) {
  if (absl::Status status = CheckAnyChange(values); !status.ok()) return status;
  absl::StatusOr<SpecChange> change = ReadSpecChange(values);
  if (!change.ok()) return change.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  v1::UpdateJobRequest& request = change->request;
  const absl::StatusOr<v1::Job> before = client->GetJob(request.name());
  if (!before.ok()) return before.status();
  // The change was made from this spec and no other.
  if (!request.has_expected_epoch()) request.set_expected_epoch(before->epoch());
  v1::JobSpec& spec = *request.mutable_spec();
  spec = before->spec();
  ReplaceSpec(*change, spec);
  if (absl::Status status = ApplyFlags(values, context, spec); !status.ok()) {
    return status;
  }
  const absl::StatusOr<v1::Job> job = client->UpdateJob(request);
  if (!job.ok()) return job.status();
  WriteJob(*job, values, context);
  return absl::OkStatus();
}

absl::Status RunJobsDelete(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = ReadJobName(reader);
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  if (absl::Status status = client->DeleteJob(name); !status.ok()) return status;
  if (WantsJson(values)) {
    const nlohmann::ordered_json json = {{"name", name}, {"deleted", true}};
    context.out.Write(json.dump(2) + "\n");
  } else {
    context.out.Write(absl::StrCat("deleted job ", name, "\n"));
  }
  return absl::OkStatus();
}

}  // namespace evenpack
