// --model, --hardware, --tp, --cp and --crossover: the workload model that they name.
#ifndef EVENPACK_CLIENT_CLI_MODEL_FLAGS_H_
#define EVENPACK_CLIENT_CLI_MODEL_FLAGS_H_

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "server/core/cost/cost_spec.h"

namespace evenpack {

// The model and hardware named, 7B on H100 with one rank where not.
// Errors go to `reader`.
AnalyticCost ReadModel(const FlagValues& values, FlagReader& reader);

// The analytic cost where --model is given, else the quadratic one.
// Both --model and --crossover: an error.
CostSpec ReadCost(const FlagValues& values, FlagReader& reader);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_MODEL_FLAGS_H_
