// A simulation as --config names it: one of the published configurations, or a file.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_CONFIG_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/simulation/simulation_setup.h"

namespace evenpack::v1 {
class SimulationConfig;
}  // namespace evenpack::v1

namespace evenpack {

struct SimulationInput {
  SimulationSetup setup;
  SimulationMethod method;
};

// INVALID_ARGUMENT naming the field, as "job.parallelism.data".
absl::StatusOr<SimulationInput> FromProto(const v1::SimulationConfig& config);

// NamedSetup with WlbMethod, or else evenpack.v1.SimulationConfig from the file `name`,
// as message_file.h reads any message. INVALID_ARGUMENT: neither, or as FromProto;
// `other_names`, as "paper, ", are what the message says is accepted besides.
absl::StatusOr<SimulationInput> ReadSimulationInput(
    const std::string& name, const std::string& other_names = "");

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_CONFIG_H_
