// The paper's tables and figures, simulated and beside what it published.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_PAPER_REPORTS_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_PAPER_REPORTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/progress_bar.h"
#include "client/cli/simulation/comparison.h"
#include "client/cli/simulation/paper_configs.h"

namespace evenpack {

// What else could be meant by the paper's words, with everything else as it is.
struct PaperAlternative {
  double fixed_speedup = 0;
  double wlb_speedup = 0;
};

// Figure 12.
struct PaperRow {
  PaperConfig config;
  Comparison comparison;
  // Plain-4D cuts documents at a micro-batch's end and goes on with them in the next.
  PaperAlternative split_documents;
  // Documents longer than the window are cut at it rather than dropped. None where the
  // window holds all of them.
  std::optional<PaperAlternative> cut_over_window;
  // Interleaved 1F1B with two virtual stages.
  PaperAlternative interleaved;
};

// Figure 14.
struct WindowRow {
  PaperWindow window;
  Comparison comparison;
};

// One bar of another figure.
struct PublishedSpeedup {
  std::string name;
  double speedup = 0;
  double published = 0;
};

// Table 2.
struct PackingRow {
  std::string name;
  // The mean over full steps of the engine's imbalance degree, 47,000 tokens of
  // crossover; none where there is no full step.
  std::optional<double> imbalance;
  double published = 1;
  double decide_seconds = 0;
};

// `steps`: of each run, no more. Errors as Simulate's.
struct PaperFeed {
  std::span<const uint32_t> lengths;
  std::optional<uint64_t> steps;
  // SimulatePaper: a method beside the paper's.
  std::optional<SimulationMethod> chosen = std::nullopt;
};

// `--config paper`: the eight configurations.
absl::StatusOr<std::vector<PaperRow>> SimulatePaper(const PaperFeed& feed);
// `window-sweep`: figure 14.
absl::StatusOr<std::vector<WindowRow>> SimulateWindowSweep(const PaperFeed& feed);
// `breakdown`: figure 13, one technique at a time at 7B-128K.
absl::StatusOr<std::vector<PublishedSpeedup>> SimulateBreakdown(const PaperFeed& feed);
// `packing-table`: table 2 without its solver rows, which `pack` makes.
absl::StatusOr<std::vector<PackingRow>> SimulatePackingTable(const PaperFeed& feed);
// `cp-figure`: forward and backward of one 7B layer on a CP group of four, TP 8, over
// per_sequence sharding of plainly packed micro-batches. FAILED_PRECONDITION: no
// document fits in the smaller window.
absl::StatusOr<std::vector<PublishedSpeedup>> SimulateCpFigure(const PaperFeed& feed);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_PAPER_REPORTS_H_
