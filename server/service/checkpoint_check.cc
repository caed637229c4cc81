#include "server/service/checkpoint_check.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "evenpack/v1/job.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_state.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {
namespace {

bool HasStreamsOf(const JobSpec& spec, const v1::JobSpec& description) {
  return std::equal(spec.streams.begin(), spec.streams.end(),
                    description.streams().begin(), description.streams().end(),
                    [](const StreamSpec& stream, const v1::Stream& described) {
                      return stream.name == described.name();
                    });
}

}  // namespace

absl::Status CheckCheckpoint(const std::string& checkpoint) {
  const absl::StatusOr<JobState> state = DecodeState(checkpoint);
  if (!state.ok()) return absl::OkStatus();
  v1::JobSpec description;
  // Which also looks at whether names are UTF-8.
  if (description.ParseFromString(state->spec.description) &&
      HasStreamsOf(state->spec, description)) {
    return absl::OkStatus();
  }
  return InvalidField("checkpoint", absl::StrCat(checkpoint.size(), " bytes"),
                      "what CheckpointJob returned");
}

}  // namespace evenpack
