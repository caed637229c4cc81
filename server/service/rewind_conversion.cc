#include "server/service/rewind_conversion.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/service/checkpoint_check.h"
#include "server/service/spec_conversion.h"

namespace evenpack {
namespace {

using Ranges = google::protobuf::RepeatedPtrField<v1::DocumentRange>;

std::vector<DocumentRange> RangesOf(const Ranges& from) {
  std::vector<DocumentRange> ranges;
  for (const v1::DocumentRange& range : from) {
    ranges.push_back({range.stream(), range.first_sequence(), range.documents()});
  }
  return ranges;
}

}  // namespace

absl::StatusOr<Command> FromProto(const v1::RewindJobRequest& from,
                                  const ProfileFinder& profiles) {
  switch (from.target_case()) {
    case v1::RewindJobRequest::kFromStep: {
      RewindJob command{from.from_step(), std::nullopt, RangesOf(from.skip())};
      if (!from.has_spec()) return command;
      absl::StatusOr<JobSpec> spec = FromProto(from.spec(), profiles);
      if (!spec.ok()) return spec.status();
      command.spec = *std::move(spec);
      return command;
    }
    case v1::RewindJobRequest::kCheckpoint: {
      if (from.has_spec()) {
        return InvalidField("spec", "with a checkpoint, it",
                            "none, since the checkpoint has one; UpdateJob changes it");
      }
      absl::Status status = CheckCheckpoint(from.checkpoint());
      if (!status.ok()) return status;
      return RewindToCheckpoint{from.checkpoint(), RangesOf(from.skip())};
    }
    case v1::RewindJobRequest::TARGET_NOT_SET:
      break;
  }
  return InvalidField("target", "not set", "from_step or checkpoint");
}

SkipDocuments FromProto(const v1::SkipDocumentsRequest& from, uint64_t next_step) {
  return {from.has_from_step() ? from.from_step() : next_step, RangesOf(from.skip())};
}

absl::Status InRewindNames(const absl::Status& status) {
  const std::string field = RefusedField(status);
  const bool of_spec = field != "checkpoint" && !field.starts_with("skip");
  return of_spec ? InSpecNames(status) : status;
}

}  // namespace evenpack
