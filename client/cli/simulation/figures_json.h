// Figures of a simulation as JSON members.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_FIGURES_JSON_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_FIGURES_JSON_H_

#include "client/cli/json_text.h"
#include "client/cli/simulation/corpus.h"
#include "client/cli/simulation/simulated_run.h"
#include "client/cli/simulation/simulation_setup.h"

namespace evenpack {

// step_seconds to decide_seconds, and `excess` by cause.
Json FiguresJson(const SimulationFigures& figures);
// Parallelism, window and the rest of what a run depends on.
Json SetupJson(const SimulationSetup& setup);
// As evenpack.v1.HybridSharding has it.
Json HybridJson(const HybridRule& rule);
Json CorpusJson(const Corpus& corpus);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_FIGURES_JSON_H_
