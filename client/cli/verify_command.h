// evenpackctl verify: reads a store's file whole, while no server has it.
#ifndef EVENPACK_CLIENT_CLI_VERIFY_COMMAND_H_
#define EVENPACK_CLIENT_CLI_VERIFY_COMMAND_H_

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"

namespace evenpack {

// The file's structure, every row's checksum, and every job's state from its snapshot
// and records. The output says what is damaged, and has `failed` then.
// INVALID_ARGUMENT: the file can't be read as a store at all.
absl::StatusOr<CommandOutput> RunVerifyCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_VERIFY_COMMAND_H_
