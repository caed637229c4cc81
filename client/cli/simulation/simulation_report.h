// What simulate and assess report, as JSON and as text.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_REPORT_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_REPORT_H_

#include <string>

#include "client/cli/simulation/corpus.h"
#include "client/cli/simulation/simulated_run.h"
#include "client/cli/simulation/simulation_config.h"

namespace evenpack {

struct SimulationReport {
  SimulationInput input;
  // Of the model on the cluster, in tokens.
  double crossover_tokens = 0;
  // By how much decisions' crossover is wrong, relatively.
  double crossover_error = 0;
  // What the method decides by where it shards hybrid.
  HybridRule hybrid;
  Corpus corpus;
  // PlainMethod over the same documents.
  SimulationFigures plain;
  SimulationFigures figures;
};

std::string SimulationJson(const SimulationReport& report);
std::string SimulationText(const SimulationReport& report);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_REPORT_H_
