// evenpackctl simulate: what a step would take.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_COMMAND_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_COMMAND_H_

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"

namespace evenpack {

// INVALID_ARGUMENT naming the flag or the field; FAILED_PRECONDITION: the documents do
// not come to a step.
absl::StatusOr<CommandOutput> RunSimulateCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_COMMAND_H_
