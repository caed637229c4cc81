// A change of a job's spec, as flags give it.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_SPEC_CHANGE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_SPEC_CHANGE_H_

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"
#include "evenpack/v1/job.pb.h"

namespace evenpack {

// The flags of a spec that are given change what they name in `spec`; what they leave
// unused is noted on stderr. INVALID_ARGUMENT: a flag's value.
absl::Status ApplySpecFlags(const FlagValues& values, const OnlineContext& context,
                            v1::JobSpec& spec);

// True where --spec or a flag of the spec is given.
bool ChangesSpec(const FlagValues& values);

// --spec and the flags of the spec.
class SpecChange {
 public:
  // Reads the file and checks the flags, before a server is asked for anything.
  // INVALID_ARGUMENT: the file, or a flag's value.
  static absl::StatusOr<SpecChange> Read(const FlagValues& values);

  // `spec` becomes that of the file, if there is one, and then what the flags say.
  // Streams and merge, which can't change, need not be in the file.
  absl::Status Apply(const OnlineContext& context, v1::JobSpec& spec) const;

 private:
  explicit SpecChange(FlagValues values) : values_(std::move(values)) {}

  FlagValues values_;
  std::optional<v1::JobSpec> file_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_SPEC_CHANGE_H_
