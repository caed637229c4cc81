// evenpackctl follow and step: steps as a rank receives them.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_FOLLOW_COMMAND_H_
#define EVENPACK_CLIENT_CLI_ONLINE_FOLLOW_COMMAND_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Writes each step at once; a step is acknowledged after it was written. Ends after the
// last step of a drained job, after --steps steps, or when nobody reads any more.
// INVALID_ARGUMENT: a flag, or what the server refused; CANCELLED: interrupted; else
// the server's error.
absl::Status RunFollow(const FlagValues& values, const OnlineContext& context);

// INVALID_ARGUMENT: a flag, or what the server refused; else the server's error.
absl::Status RunStep(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_FOLLOW_COMMAND_H_
