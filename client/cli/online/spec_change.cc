#include "client/cli/online/spec_change.h"

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/job_flags.h"
#include "client/cli/online/spec_file.h"
#include "client/cli/online/spec_flag_table.h"
#include "client/cli/online/spec_flags.h"

namespace evenpack {

absl::Status ApplySpecFlags(const FlagValues& values, const OnlineContext& context,
                            v1::JobSpec& spec) {
  const absl::StatusOr<std::vector<std::string>> unused = ApplySpecFlags(values, spec);
  if (!unused.ok()) return unused.status();
  context.err.Write(UnusedFlagsNote(*unused));
  return absl::OkStatus();
}

bool ChangesSpec(const FlagValues& values) {
  if (IsGiven(values, "--spec")) return true;
  const std::vector<FlagDefinition> flags = SpecFlagDefinitions();
  return std::any_of(flags.begin(), flags.end(), [&values](const FlagDefinition& flag) {
    return IsGiven(values, flag.name);
  });
}

absl::StatusOr<SpecChange> SpecChange::Read(const FlagValues& values) {
  SpecChange change(values);
  v1::JobSpec spec;
  if (IsGiven(values, "--spec")) {
    absl::Status status = ReadSpecFile(values.at("--spec"), spec);
    if (!status.ok()) return status;
    change.file_ = spec;
  }
  // For the errors alone.
  const auto unused = ApplySpecFlags(values, spec);
  if (!unused.ok()) return unused.status();
  return change;
}

absl::Status SpecChange::Apply(const OnlineContext& context, v1::JobSpec& spec) const {
  if (file_.has_value()) {
    v1::JobSpec file = *file_;
    if (file.streams().empty()) *file.mutable_streams() = spec.streams();
    if (file.merge() == v1::MERGE_MODE_UNSPECIFIED) file.set_merge(spec.merge());
    spec = std::move(file);
  }
  return ApplySpecFlags(values_, context, spec);
}

}  // namespace evenpack
