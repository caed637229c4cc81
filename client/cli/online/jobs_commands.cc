#include "client/cli/online/jobs_commands.h"

#include <google/protobuf/util/message_differencer.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/job_flags.h"
#include "client/cli/json_text.h"
#include "client/cli/online/job_report.h"
#include "client/cli/online/spec_change.h"
#include "client/cli/online/spec_file.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

using google::protobuf::util::MessageDifferencer;

std::string ReadJobName(FlagReader& reader) {
  return reader.Text("NAME", "the job's name");
}

void WriteJob(const v1::Job& job, const FlagValues& values,
              const OnlineContext& context) {
  context.out.Write(JobReport(job, IsGiven(values, "--json")));
}

absl::Status ReadNewSpec(const FlagValues& values, const OnlineContext& context,
                         v1::JobSpec& spec) {
  const bool from_file = IsGiven(values, "--spec");
  if (from_file) {
    absl::Status status = ReadSpecFile(values.at("--spec"), spec);
    if (!status.ok()) return status;
  }
  if (absl::Status status = ApplySpecFlags(values, context, spec); !status.ok()) {
    return status;
  }
  if (!from_file && spec.window() == 0) {
    return absl::InvalidArgumentError(
        "--window is missing; accepted: tokens of a micro-batch, or --spec FILE");
  }
  if (spec.streams().empty()) spec.add_streams()->set_name(kDefaultStream);
  return absl::OkStatus();
}

// Whether nothing would be other than it is. A named profile may have changed since.
bool LeavesAllAsItIs(const v1::UpdateJobRequest& request, const v1::JobSpec& before) {
  return !request.has_from_step() && request.spec().cost().profile().empty() &&
         MessageDifferencer::Equals(request.spec(), before);
}

// A job that is updated loses its subscriptions: not without a reason.
absl::Status CheckAnyChange(const FlagValues& values) {
  if (ChangesSpec(values) || IsGiven(values, "--from-step")) return absl::OkStatus();
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
  context.out.Write(IsGiven(values, "--json") ? JobsJson(*jobs) : JobsText(*jobs));
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
  FlagReader reader(values);
  v1::UpdateJobRequest request;
  request.set_name(ReadJobName(reader));
  if (IsGiven(values, "--from-step")) {
    request.set_from_step(reader.Integer("--from-step", kAnyNumber));
  }
  if (IsGiven(values, "--expected-epoch")) {
    request.set_expected_epoch(reader.Integer("--expected-epoch", kAnyNumber));
  }
  if (!reader.status().ok()) return reader.status();
  const absl::StatusOr<SpecChange> change = SpecChange::Read(values);
  if (!change.ok()) return change.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::Job> before = client->GetJob(request.name());
  if (!before.ok()) return before.status();
  // The change was made from this spec and no other.
  if (!request.has_expected_epoch()) request.set_expected_epoch(before->epoch());
  *request.mutable_spec() = before->spec();
  if (absl::Status status = change->Apply(context, *request.mutable_spec());
      !status.ok()) {
    return status;
  }
  if (request.expected_epoch() == before->epoch() &&
      LeavesAllAsItIs(request, before->spec())) {
    context.err.Write(
        absl::StrCat("evenpackctl: note: the spec of job ", request.name(),
                     " has all of that already; the job stays as it is\n"));
    WriteJob(*before, values, context);
    return absl::OkStatus();
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
  if (IsGiven(values, "--json")) {
    const Json json = {{"name", name}, {"deleted", true}};
    context.out.Write(JsonText(json));
  } else {
    context.out.Write(absl::StrCat("deleted job ", name, "\n"));
  }
  return absl::OkStatus();
}

}  // namespace evenpack
