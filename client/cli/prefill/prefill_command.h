// evenpackctl pack --mode prefill: batches for prefill, formed by one discipline after
// the other.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_PREFILL_COMMAND_H_
#define EVENPACK_CLIENT_CLI_PREFILL_PREFILL_COMMAND_H_

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"

namespace evenpack {

// INVALID_ARGUMENT: a flag, a line of a file, or a prompt that no batch can hold.
absl::StatusOr<CommandOutput> RunPrefillCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_PREFILL_COMMAND_H_
