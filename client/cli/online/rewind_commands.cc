#include "client/cli/online/rewind_commands.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/online/checkpoint_file.h"
#include "client/cli/online/document_ranges.h"
#include "client/cli/online/job_report.h"
#include "client/cli/online/spec_change.h"
#include "client/cpp/client.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

absl::Status WriteJob(const absl::StatusOr<v1::Job>& job, const FlagValues& values,
                      const OnlineContext& context) {
  if (!job.ok()) return job.status();
  context.out.Write(JobReport(*job, IsGiven(values, "--json")));
  return absl::OkStatus();
}

template <typename Request>
void ReadEpoch(const FlagValues& values, FlagReader& reader, Request& request) {
  if (!IsGiven(values, "--expected-epoch")) return;
  request.set_expected_epoch(reader.Integer("--expected-epoch", kAnyNumber));
}

absl::Status ReadRanges(const FlagValues& values, const std::string& flag,
                        google::protobuf::RepeatedPtrField<v1::DocumentRange>& to) {
  const absl::StatusOr<std::vector<v1::DocumentRange>> ranges =
      ReadDocumentRanges(flag, values.at(flag));
  if (!ranges.ok()) return ranges.status();
  to.Add(ranges->begin(), ranges->end());
  return absl::OkStatus();
}

absl::Status ReadTarget(const FlagValues& values, FlagReader& reader,
                        v1::RewindJobRequest& request) {
  const bool by_file = IsGiven(values, "--checkpoint");
  if (by_file == IsGiven(values, "--from-step")) {
    return absl::InvalidArgumentError(
        "rewind: accepted: --from-step K or --checkpoint FILE, one of the two");
  }
  if (!by_file) {
    request.set_from_step(reader.Integer("--from-step", kAnyNumber));
    return reader.status();
  }
  if (ChangesSpec(values)) {
    return absl::InvalidArgumentError(
        "rewind: a checkpoint has its own spec; accepted: no flag of the spec with "
        "--checkpoint, and `jobs update` after it");
  }
  absl::StatusOr<std::string> bytes =
      ReadCheckpointFile(reader.Text("--checkpoint", "a file"));
  if (!bytes.ok()) return bytes.status();
  request.set_checkpoint(*std::move(bytes));
  return absl::OkStatus();
}

absl::Status ReadRewind(const FlagValues& values, v1::RewindJobRequest& request) {
  FlagReader reader(values);
  request.set_name(reader.Text("NAME", "a job"));
  ReadEpoch(values, reader, request);
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = ReadTarget(values, reader, request); !status.ok()) {
    return status;
  }
  if (!IsGiven(values, "--skip")) return absl::OkStatus();
  return ReadRanges(values, "--skip", *request.mutable_skip());
}

absl::Status ReadSkip(const FlagValues& values, v1::SkipDocumentsRequest& request) {
  FlagReader reader(values);
  request.set_name(reader.Text("NAME", "a job"));
  if (IsGiven(values, "--from-step")) {
    request.set_from_step(reader.Integer("--from-step", kAnyNumber));
  }
  ReadEpoch(values, reader, request);
  // For the error where it is missing.
  static_cast<void>(reader.Text("--documents", "ranges of documents"));
  if (!reader.status().ok()) return reader.status();
  return ReadRanges(values, "--documents", *request.mutable_skip());
}

}  // namespace

absl::Status RunRewind(const FlagValues& values, const OnlineContext& context) {
  v1::RewindJobRequest request;
  if (absl::Status status = ReadRewind(values, request); !status.ok()) return status;
  const absl::StatusOr<SpecChange> change = SpecChange::Read(values);
  if (!change.ok()) return change.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::Job> before = client->GetJob(request.name());
  if (!before.ok()) return before.status();
  if (!request.has_expected_epoch()) request.set_expected_epoch(before->epoch());
  if (ChangesSpec(values)) {
    *request.mutable_spec() = before->spec();
    if (absl::Status status = change->Apply(context, *request.mutable_spec());
        !status.ok()) {
      return status;
    }
  }
  return WriteJob(client->RewindJob(request), values, context);
}

absl::Status RunFork(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  v1::ForkJobRequest request;
  request.set_name(reader.Text("NAME", "a job"));
  request.set_new_name(reader.Text("--as", "a name for the new job"));
  request.set_step(reader.Integer("--step", kAnyNumber));
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  return WriteJob(client->ForkJob(request), values, context);
}

absl::Status RunSkip(const FlagValues& values, const OnlineContext& context) {
  v1::SkipDocumentsRequest request;
  if (absl::Status status = ReadSkip(values, request); !status.ok()) return status;
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  if (request.has_from_step() && !request.has_expected_epoch()) {
    const absl::StatusOr<v1::Job> before = client->GetJob(request.name());
    if (!before.ok()) return before.status();
    request.set_expected_epoch(before->epoch());
  }
  return WriteJob(client->SkipDocuments(request), values, context);
}

}  // namespace evenpack
