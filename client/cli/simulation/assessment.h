// What balanced packing would do for a corpus on a cluster, from its lengths alone.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/simulation/corpus.h"
#include "client/cli/simulation/length_summary.h"
#include "client/cli/simulation/simulate_flags.h"
#include "client/cli/simulation/simulated_run.h"

namespace evenpack {

struct AssessedMethod {
  // No other's: MethodName, and for the configuration's where that is another's too,
  // "as configured".
  std::string name;
  SimulationMethod method;
  // What it decides by where it shards hybrid.
  HybridRule hybrid;
  SimulationFigures figures;
};

// The best method, decided with a crossover of 1 + error times the right one.
struct WrongCost {
  double error = 0;
  double step_seconds = 0;
};

struct Assessment {
  SimulationInput input;
  Corpus corpus;
  OverWindow over_window = OverWindow::kDrop;
  // Of the documents as they were given.
  LengthSummary lengths;
  double crossover_tokens = 0;
  // The first is plain packing; then fixed-length packing under either sharding, `wlb`
  // under each sharding, `balanced` under hybrid sharding, placed, and what the
  // configuration asks for where that is none of them.
  std::vector<AssessedMethod> methods;
  // The fastest.
  size_t best = 0;
  std::vector<WrongCost> wrong_costs;

  const SimulationFigures& Plain() const { return methods.front().figures; }
  const SimulationFigures& Best() const { return methods[best].figures; }
  double Speedup(const SimulationFigures& figures) const {
    return Plain().step_seconds / figures.step_seconds;
  }
  // GPU-hours for 10^12 tokens.
  double GpuHoursPerTrillion(const SimulationFigures& figures) const;
};

// Of documents of these lengths. Errors as Simulate's.
absl::StatusOr<Assessment> Assess(const SimulateFlags& flags,
                                  std::span<const uint32_t> lengths);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_H_
