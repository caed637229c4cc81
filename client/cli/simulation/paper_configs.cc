#include "client/cli/simulation/paper_configs.h"

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/quoted_value.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr std::array<PaperConfig, 8> kPaperConfigs = {{
    {"550M-64K", "550M", k64K, 2, 2, 4, 2, 1.06, 1.21},
    {"550M-128K", "550M", k128K, 2, 4, 4, 1, 1.03, 1.41},
    {"7B-64K", "7B", k64K, 4, 2, 4, 1, 1.01, 1.21},
    {"7B-128K", "7B", k128K, 8, 2, 4, 1, 1.04, 1.33},
    {"30B-64K", "30B", k64K, 8, 2, 4, 1, 1.02, 1.12},
    {"30B-128K", "30B", k128K, 8, 4, 4, 1, 1.05, 1.26},
    {"70B-64K", "70B", k64K, 16, 4, 4, 1, 1.01, 1.06},
    {"70B-128K", "70B", k128K, 16, 4, 4, 1, 1.05, 1.20},
}};

// No speedups are published of these.
constexpr std::array<PaperConfig, 2> kLargeConfigs = {{
    {"405B-128K", "405B", k128K, 8, 16, 16, 4, 0, 0},
    {"405B-128K-100K", "405B", k128K, 8, 16, 16, 48, 0, 0},
}};

constexpr std::array<PaperWindow, 5> kPaperWindows = {{
    {32768, 1.03},
    {65536, 1.14},
    {98304, 1.26},
    {131072, 1.33},
    {163840, 1.40},
}};

}  // namespace

std::span<const PaperConfig> PaperConfigs() { return kPaperConfigs; }

std::span<const PaperWindow> PaperWindows() { return kPaperWindows; }

SimulationSetup MakeSetup(const PaperConfig& config) {
  SimulationSetup setup;
  setup.name = std::string(config.name);
  setup.model = *NamedModel({config.model.data(), config.model.size()});
  setup.cluster.tensor_parallel = config.tensor_parallel;
  setup.cluster.context_parallel = config.context_parallel;
  setup.cluster.pipeline_parallel = config.pipeline_parallel;
  setup.cluster.data_parallel = config.data_parallel;
  setup.micro_batches = config.pipeline_parallel * config.data_parallel;
  setup.virtual_pipeline_group = config.pipeline_parallel;
  SetWindow(config.window, setup);
  return setup;
}

absl::StatusOr<SimulationSetup> NamedSetup(std::string_view name) {
  for (const PaperConfig& config : kPaperConfigs) {
    if (config.name == name) return MakeSetup(config);
  }
  for (const PaperConfig& config : kLargeConfigs) {
    if (config.name == name) return MakeSetup(config);
  }
  return InvalidField("--config", QuotedValue(name), SetupNames());
}

std::string SetupNames() {
  std::vector<std::string> names;
  names.reserve(kPaperConfigs.size() + kLargeConfigs.size());
  for (const PaperConfig& config : kPaperConfigs) names.emplace_back(config.name);
  for (const PaperConfig& config : kLargeConfigs) names.emplace_back(config.name);
  return absl::StrJoin(names, ", ");
}

}  // namespace evenpack
