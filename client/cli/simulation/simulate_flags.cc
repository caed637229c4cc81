#include "client/cli/simulation/simulate_flags.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "client/cli/balanced_flags.h"
#include "client/cli/job_flags.h"
#include "client/cli/sharding_name.h"
#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/step_prediction.h"

namespace evenpack {
namespace {

constexpr std::array<std::string_view, 2> kOverWindowNames = {"drop", "cut"};
constexpr std::array<std::string_view, 2> kSyncDomainNames = {"step", "micro_batch"};
constexpr FlagReader::Range kVirtualStages = {1, 1024};
constexpr FlagReader::Range kWindowBatches = {1, 1024};
constexpr double kLeastError = -0.99;
constexpr double kMostError = 100;

void ReadSchedule(const FlagValues& values, FlagReader& reader,
                  SimulationSetup& setup) {
  ClusterSpec& cluster = setup.cluster;
  cluster.virtual_stages =
      reader.Integer32("--virtual-stages", kVirtualStages, cluster.virtual_stages);
  // What a schedule without chunks had no use for.
  if (cluster.virtual_stages > 1 && setup.virtual_pipeline_group == 1) {
    setup.virtual_pipeline_group = LeastPipelineGroup(
        cluster.pipeline_parallel, setup.micro_batches / cluster.data_parallel);
  }
  if (IsGiven(values, "--sync-domain")) {
    cluster.sync_domain =
        static_cast<SyncDomain>(reader.OneOf("--sync-domain", kSyncDomainNames));
  }
}

}  // namespace

void ReadMethod(const FlagValues& values, FlagReader& reader,
                SimulationMethod& method) {
  if (IsGiven(values, "--policy")) {
    if (const auto policy = ReadPolicy(values); policy.ok()) {
      method.policy = *policy;
    } else {
      reader.Fail(policy.status());
    }
  }
  if (IsGiven(values, "--sharding")) {
    method.sharding = static_cast<Sharding>(reader.OneOf("--sharding", kShardingNames));
  }
  method.balanced = ReadBalanced(values, reader, method.balanced);
  method.placing = PlacingOf(method);
  if (IsGiven(values, "--placement")) {
    method.placing =
        static_cast<MicroBatchPlacing>(reader.OneOf("--placement", kPlacingNames));
  }
  method.token_tolerance_ppm = reader.Integer32("--hybrid-tolerance", {0, 1'000'000},
                                                method.token_tolerance_ppm);
  method.window_batches =
      reader.Integer32("--window-batches", kWindowBatches, method.window_batches);
  method.split_documents = reader.Boolean("--split-documents", method.split_documents);
}

std::vector<std::string> UnusedMethodFlags(const FlagValues& values,
                                           const SimulationMethod& method) {
  std::vector<std::string> unused;
  const auto add = [&](const std::string& flag, bool is_used) {
    if (!is_used && IsGiven(values, flag)) unused.push_back(flag);
  };
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    add(flag.name, method.policy == PolicyKind::kBalanced);
  }
  add("--hybrid-tolerance", method.sharding == Sharding::kHybrid);
  add("--split-documents", method.policy == PolicyKind::kOriginal);
  add("--window-batches", method.policy == PolicyKind::kFixedGreedy);
  std::sort(unused.begin(), unused.end());
  return unused;
}

std::vector<std::string> UnusedSimulateFlags(const FlagValues& values,
                                             const SimulationMethod& method) {
  std::vector<std::string> unused = UnusedMethodFlags(values, method);
  for (std::string& flag : UnusedFeedFlags(values)) unused.push_back(std::move(flag));
  std::sort(unused.begin(), unused.end());
  return unused;
}

absl::StatusOr<SimulateFlags> ReadSimulateFlags(const FlagValues& values,
                                                const std::string& other_configs) {
  FlagReader reader(values);
  const std::string config = reader.Text("--config", "a configuration or a file");
  if (!reader.status().ok()) return reader.status();
  SimulateFlags flags;
  absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  flags.feed = *std::move(feed);
  absl::StatusOr<SimulationInput> input = ReadSimulationInput(config, other_configs);
  if (!input.ok()) return input.status();
  flags.input = *std::move(input);
  ReadMethod(values, reader, flags.input.method);
  ReadSchedule(values, reader, flags.input.setup);
  if (IsGiven(values, "--over-window")) {
    flags.over_window =
        static_cast<OverWindow>(reader.OneOf("--over-window", kOverWindowNames));
  }
  flags.crossover_error = reader.Real("--crossover-error", kLeastError, kMostError, 0);
  if (!reader.status().ok()) return reader.status();
  const SimulationSetup& setup = flags.input.setup;
  absl::Status status = ValidateStepShape(setup.cluster, setup.micro_batches,
                                          setup.virtual_pipeline_group);
  if (!status.ok()) return status;
  return flags;
}

}  // namespace evenpack
