// evenpackctl pack: one policy on a file's documents.
#ifndef EVENPACK_CLIENT_CLI_PACK_COMMAND_H_
#define EVENPACK_CLIENT_CLI_PACK_COMMAND_H_

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"

namespace evenpack {

// INVALID_ARGUMENT: a flag or a line of the file. INTERNAL: as RunPack.
absl::StatusOr<CommandOutput> RunPackCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PACK_COMMAND_H_
