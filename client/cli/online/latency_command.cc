#include "client/cli/online/latency_command.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/online/latency_report.h"
#include "evenpack/v1/latency.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {

namespace {

bool Differ(const v1::CostScales& a, const v1::CostScales& b) {
  return a.attention() != b.attention() || a.linear() != b.linear();
}

// Updates the job with what is suggested, where that is anything.
absl::Status Apply(const std::string& name, const v1::CostCalibration& calibration,
                   client::Client& client, const OnlineContext& context) {
  const v1::CostScales& suggested = calibration.suggested();
  if (!Differ(suggested, calibration.applied())) {
    context.err.Write(
        "evenpackctl: note: no other scales are suggested; the job stays as it is\n");
    return absl::OkStatus();
  }
  const absl::StatusOr<v1::Job> before = client.GetJob(name);
  if (!before.ok()) return before.status();
  v1::UpdateJobRequest request;
  request.set_name(name);
  // What was suggested is of this spec and no other.
  request.set_expected_epoch(before->epoch());
  *request.mutable_spec() = before->spec();
  request.mutable_spec()->mutable_cost()->set_attention_scale(suggested.attention());
  request.mutable_spec()->mutable_cost()->set_linear_scale(suggested.linear());
  const absl::StatusOr<v1::Job> job = client.UpdateJob(request);
  if (!job.ok()) return job.status();
  context.err.Write(absl::StrCat("evenpackctl: note: job ", name, " is in epoch ",
                                 job->epoch(), " from step ", job->next_step(),
                                 " on\n"));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLatency(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  v1::GetLatencyRequest request;
  request.set_job(reader.Text("--job", "a job"));
  request.set_steps(reader.Integer32("--steps", {1, 64}, 8));
  request.set_ranks(reader.Integer32("--ranks", {1, 1024}, 16));
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::GetLatencyResponse> latency = client->GetLatency(request);
  if (!latency.ok()) return latency.status();
  context.out.Write(IsGiven(values, "--json") ? LatencyJson(*latency)
                                              : LatencyText(*latency));
  if (!IsGiven(values, "--apply")) return absl::OkStatus();
  return Apply(request.job(), latency->calibration(), *client, context);
}

}  // namespace evenpack
