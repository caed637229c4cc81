// evenpackctl rewind, fork and skip.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_REWIND_COMMANDS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_REWIND_COMMANDS_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Each reads its flags (online_flags.h), asks the server, and writes the job as it is
// then. INVALID_ARGUMENT: a flag or a file; else the server's error.
absl::Status RunRewind(const FlagValues& values, const OnlineContext& context);
absl::Status RunFork(const FlagValues& values, const OnlineContext& context);
absl::Status RunSkip(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_REWIND_COMMANDS_H_
