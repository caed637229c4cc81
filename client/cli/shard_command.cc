#include "client/cli/shard_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/document_lengths.h"
#include "client/cli/job_flags.h"
#include "client/cli/model_flags.h"
#include "client/cli/report_json.h"
#include "client/cli/report_text.h"
#include "client/cli/reports.h"
#include "client/cli/sharding_name.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/plan_sharding.h"
#include "server/core/sharding/shard_request.h"
#include "server/core/sharding/validate_plan.h"

namespace evenpack {
namespace {

// A plan that takes less is made this often, and the median time is reported: the
// first one pays for memory that is touched for the first time.
constexpr double kShortSeconds = 0.01;
constexpr size_t kRepetitions = 9;
// Some 800 bytes each while they are written.
constexpr uint64_t kMostPrintedSlices = uint64_t{1} << 22;
constexpr FlagReader::Range kPicoseconds = {0, 100'000'000};

struct ShardFlags {
  FeedFlags feed;
  uint32_t context_parallel = 1;
  Sharding sharding = Sharding::kPerSequence;
  uint32_t pad_to = 0;
  HybridRule hybrid;
  KernelLatencyTable table;
};

absl::StatusOr<ShardFlags> ReadShardFlags(const FlagValues& values) {
  absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  FlagReader reader(values);
  ShardFlags flags;
  flags.feed = *std::move(feed);
  flags.context_parallel = reader.Integer32("--cp", {1, kMaxContextParallel});
  flags.sharding = static_cast<Sharding>(reader.OneOf("--sharding", kShardingNames));
  flags.pad_to = reader.Integer32("--pad-to", {0, kMaxPadMultiple}, 0);
  HybridRule& hybrid = flags.hybrid;
  hybrid.token_tolerance_ppm = reader.Integer32("--hybrid-tolerance", {0, 1'000'000},
                                                hybrid.token_tolerance_ppm);
  hybrid.token_ps = reader.Integer32("--hybrid-token-ps", kPicoseconds, 0);
  hybrid.cut_token_ps = reader.Integer32("--hybrid-cut-token-ps", kPicoseconds, 0);
  const AnalyticCost cost = ReadModel(values, reader);
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<KernelLatencyTable> table = KernelLatencyTable::FromTileModel(
      cost.model, cost.hardware, cost.tensor_parallel);
  if (!table.ok()) return InFlagNames(table.status());
  flags.table = *std::move(table);
  absl::StatusOr<uint32_t> multiple = PadMultiple(flags.context_parallel, flags.pad_to);
  if (!multiple.ok()) return InFlagNames(multiple.status());
  return flags;
}

std::vector<std::string> UnusedShardFlags(const FlagValues& values, Sharding sharding) {
  std::vector<std::string> unused;
  for (const char* const flag :
       {"--hybrid-cut-token-ps", "--hybrid-token-ps", "--hybrid-tolerance"}) {
    if (sharding != Sharding::kHybrid && IsGiven(values, flag))
      unused.emplace_back(flag);
  }
  return unused;
}

struct TimedPlan {
  ShardPlan plan;
  double seconds = 0;
};

absl::StatusOr<TimedPlan> Plan(const ShardFlags& flags,
                               std::span<const uint32_t> lengths) {
  TimedPlan timed;
  std::vector<double> seconds;
  do {
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<ShardPlan> plan =
        PlanSharding(flags.sharding, lengths, flags.context_parallel, flags.pad_to,
                     flags.table, flags.hybrid);
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    if (!plan.ok()) return InFlagNames(plan.status());
    seconds.push_back(taken.count());
    timed.plan = *std::move(plan);
  } while (seconds.back() < kShortSeconds && seconds.size() < kRepetitions);
  std::sort(seconds.begin(), seconds.end());
  timed.seconds = seconds[seconds.size() / 2];
  if (absl::Status status = Validate(timed.plan, lengths); !status.ok()) {
    return absl::InternalError(
        absl::StrCat("the plan is not valid: ", status.ToString()));
  }
  return timed;
}

absl::Status CheckPrinted(std::span<const RankLoad> loads) {
  uint64_t slices = 0;
  for (const RankLoad& load : loads) slices += load.slices;
  if (slices <= kMostPrintedSlices) return absl::OkStatus();
  return InvalidField("--print-slices", absl::StrCat(slices, " slices"),
                      absl::StrCat("at most ", kMostPrintedSlices,
                                   ": fewer documents, or a lower --cp"));
}

double MaxOverMean(std::span<const int64_t> values) {
  double sum = 0;
  double most = 0;
  for (const int64_t value : values) {
    sum += static_cast<double>(value);
    most = std::max(most, static_cast<double>(value));
  }
  return sum > 0 ? most * static_cast<double>(values.size()) / sum : 1;
}

}  // namespace

absl::StatusOr<CommandOutput> RunShardCommand(const FlagValues& values) {
  const absl::StatusOr<ShardFlags> flags = ReadShardFlags(values);
  if (!flags.ok()) return flags.status();
  const absl::StatusOr<DocumentLengths> documents = ReadDocumentLengths(flags->feed);
  if (!documents.ok()) return documents.status();
  const absl::StatusOr<TimedPlan> timed = Plan(*flags, documents->lengths);
  if (!timed.ok()) return timed.status();
  const ShardPlan& plan = timed->plan;

  ShardReport report;
  report.chosen = plan.sharding;
  report.documents = plan.documents();
  report.tokens = plan.tokens();
  report.loads = RankLoads(plan);
  report.predicted_ns = PredictRankNs(plan, flags->table);
  report.imbalance = MaxOverMean(report.predicted_ns);
  report.plan_seconds = timed->seconds;
  if (IsGiven(values, "--print-slices")) {
    if (absl::Status status = CheckPrinted(report.loads); !status.ok()) return status;
    report.slices = ExpandAllRanks(plan);
  }
  return CommandOutput{
      IsGiven(values, "--json") ? ShardJson(report) : ShardText(report),
      documents->note + UnusedFlagsNote(UnusedShardFlags(values, flags->sharding))};
}

}  // namespace evenpack
