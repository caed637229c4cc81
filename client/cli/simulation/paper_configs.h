// The configurations that WLB-LLM (OSDI'25) was measured in, with what it published of
// each, and larger ones.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_PAPER_CONFIGS_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_PAPER_CONFIGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/cli/simulation/simulation_setup.h"

namespace evenpack {

inline constexpr uint32_t k64K = 65536;
inline constexpr uint32_t k128K = 131072;

// Table 1 and figure 12: speedups over Plain-4D.
struct PaperConfig {
  std::string_view name;
  std::string_view model;
  uint32_t window;
  uint32_t tensor_parallel;
  uint32_t context_parallel;
  uint32_t pipeline_parallel;
  uint32_t data_parallel;
  double published_fixed;
  double published_wlb;
};
std::span<const PaperConfig> PaperConfigs();

// Sections 1 and 7.2: averages over the eight.
inline constexpr double kPublishedMeanFixed = 1.03;
inline constexpr double kPublishedMeanWlb = 1.23;

// Figure 14: 7B by window. Its parallelism is not published; that of 7B-128K is taken.
struct PaperWindow {
  uint32_t window;
  double published_wlb;
};
std::span<const PaperWindow> PaperWindows();

// A setup on H100s in nodes of eight, N = PP * DP (section 7.1), S_max and
// outlier queues as SetWindow says. Plain 1F1B, whose critical path
// section 3.1 describes; section 6 names the interleaved schedule, without its number
// of virtual stages. docs/reproduction.md has both.
SimulationSetup MakeSetup(const PaperConfig& config);

// A PaperConfig's setup by name, or one of 405B at a window of 128K: 405B-128K on 8,192
// GPUs (figure 1) and 405B-128K-100K on 98,304. INVALID_ARGUMENT lists the names.
absl::StatusOr<SimulationSetup> NamedSetup(std::string_view name);

// "550M-64K, 550M-128K, ...".
std::string SetupNames();

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_PAPER_CONFIGS_H_
