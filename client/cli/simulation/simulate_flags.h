// The flags of simulate and assess that are about one configuration.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_FLAGS_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/job_flags.h"
#include "client/cli/simulation/corpus.h"
#include "client/cli/simulation/simulation_config.h"

namespace evenpack {

struct SimulateFlags {
  SimulationInput input;
  OverWindow over_window = OverWindow::kDrop;
  double crossover_error = 0;
  FeedFlags feed;
};

// What --policy, --sharding, --placement and their options make of `method`. Errors are
// `reader`'s.
void ReadMethod(const FlagValues& values, FlagReader& reader, SimulationMethod& method);

// Of these, and of those that say how documents are fed, the ones that were given and
// that have no effect on it.
std::vector<std::string> UnusedSimulateFlags(const FlagValues& values,
                                             const SimulationMethod& method);
// Those of the method alone.
std::vector<std::string> UnusedMethodFlags(const FlagValues& values,
                                           const SimulationMethod& method);

// --config, and what other flags change of it; a flag that is not given leaves what the
// configuration says. `other_configs`: as ReadSimulationInput's other_names.
// INVALID_ARGUMENT naming the flag or the field.
absl::StatusOr<SimulateFlags> ReadSimulateFlags(const FlagValues& values,
                                                const std::string& other_configs = "");

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATE_FLAGS_H_
