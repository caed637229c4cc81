// evenpackctl latency.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_LATENCY_COMMAND_H_
#define EVENPACK_CLIENT_CLI_ONLINE_LATENCY_COMMAND_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Errors as those of jobs_commands.h.
absl::Status RunLatency(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_LATENCY_COMMAND_H_
