// evenpackctl checkpoint and restore.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_COMMANDS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_COMMANDS_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Errors as online_commands.h has them. A checkpoint's file is there whole or not at
// all.
absl::Status RunCheckpoint(const FlagValues& values, const OnlineContext& context);
absl::Status RunRestore(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_COMMANDS_H_
