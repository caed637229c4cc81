#include "client/cli/online/checkpoint_commands.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/json_text.h"
#include "client/cli/online/checkpoint_file.h"
#include "client/cli/online/job_report.h"
#include "client/cpp/client.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {

absl::Status RunCheckpoint(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = reader.Text("NAME", "a job");
  const uint64_t step = reader.Integer("--step", kAnyNumber);
  const std::string path = reader.Text("--output", "a file");
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const auto checkpoint = client->CheckpointJob(name, step);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::Status status = WriteCheckpointFile(path, checkpoint->checkpoint());
  if (!status.ok()) return status;
  const std::string digest = absl::BytesToHexString(checkpoint->digest());
  if (IsGiven(values, "--json")) {
    const Json json = {{"name", name},
                       {"step", step},
                       {"digest", digest},
                       {"bytes", checkpoint->checkpoint().size()},
                       {"output", path}};
    context.out.Write(JsonText(json));
  } else {
    context.out.Write(absl::StrCat("job ", name, " after step ", step, ", digest ",
                                   digest, ": ", checkpoint->checkpoint().size(),
                                   " bytes in ", path, "\n"));
  }
  return absl::OkStatus();
}

absl::Status RunRestore(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = reader.Text("NAME", "a name for the job");
  const std::string path = reader.Text("--checkpoint", "a file");
  if (!reader.status().ok()) return reader.status();
  const absl::StatusOr<std::string> bytes = ReadCheckpointFile(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::Job> job = client->RestoreJob(name, *bytes);
  if (!job.ok()) return job.status();
  context.out.Write(JobReport(*job, IsGiven(values, "--json")));
  return absl::OkStatus();
}

}  // namespace evenpack
