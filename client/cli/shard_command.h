// evenpackctl shard: a file's documents as one micro-batch, cut over CP ranks.
#ifndef EVENPACK_CLIENT_CLI_SHARD_COMMAND_H_
#define EVENPACK_CLIENT_CLI_SHARD_COMMAND_H_

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"

namespace evenpack {

// INVALID_ARGUMENT: a flag or a line of the file. INTERNAL: the plan is not valid.
absl::StatusOr<CommandOutput> RunShardCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SHARD_COMMAND_H_
