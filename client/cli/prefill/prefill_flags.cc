#include "client/cli/prefill/prefill_flags.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/balanced_flags.h"
#include "client/cli/model_flags.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr std::array<std::string_view, 2> kPatternNames = {"poisson", "bursty"};
constexpr FlagReader::Range kReplicas = {1, 65'536};
constexpr FlagReader::Range kTokens = {1, kMaxDocumentLength};
constexpr FlagReader::Range kRequests = {1, 100'000'000};
constexpr FlagReader::Range kDelay = {0, 1'000'000'000'000};
constexpr double kLeastScale = 1e-6;
constexpr double kMostScale = 1000;
constexpr double kLeastRate = 0.001;
constexpr double kMostRate = 1e6;
constexpr double kLeastBurst = 0.001;
constexpr double kMostBurst = 1000;
// Of a burst, on average: with fewer, drawing would be mostly of bursts without any.
constexpr double kLeastBurstRequests = 0.001;

void ReadArrivalFlags(const FlagValues& values, FlagReader& reader,
                      PrefillFlags& flags) {
  flags.arrivals_file = reader.Text("--arrivals-file", "a file", "");
  if (IsGiven(values, "--arrivals")) {
    flags.arrivals.pattern =
        static_cast<ArrivalPattern>(reader.OneOf("--arrivals", kPatternNames));
  }
  if (flags.arrivals_file.empty() && !IsGiven(values, "--rate")) {
    reader.Fail(absl::InvalidArgumentError(
        "--rate is missing; accepted: requests a second, 0.001 to 1000000, or "
        "--arrivals-file"));
  }
  flags.arrivals.rate = reader.Real("--rate", kLeastRate, kMostRate, 1);
  flags.arrivals.burst_seconds =
      reader.Real("--burst-seconds", kLeastBurst, kMostBurst, 10);
  const double least = kLeastBurstRequests / flags.arrivals.rate;
  if (reader.status().ok() && flags.arrivals.burst_seconds < least) {
    reader.Fail(InvalidField("--burst-seconds",
                             absl::StrCat("'", flags.arrivals.burst_seconds, "'"),
                             absl::StrCat("at least 0.001 / --rate: ", least)));
  }
}

void ReadLimits(FlagReader& reader, BatchLimits& limits) {
  limits.replicas = reader.Integer32("--replicas", kReplicas);
  limits.window = reader.Integer32("--window", kTokens);
  limits.max_length = reader.Integer32("--max-length", kTokens, limits.window);
  if (reader.status().ok() && limits.max_length < limits.window) {
    reader.Fail(InvalidField(
        "--max-length", absl::StrCat("'", limits.max_length, "'"),
        absl::StrCat(limits.window, ", which is --window, to ", kMaxDocumentLength)));
  }
}

}  // namespace

bool IsPrefill(const FlagValues& values) {
  const auto mode = values.find("--mode");
  return mode != values.end() && mode->second == "prefill";
}

absl::StatusOr<PrefillFlags> ReadPrefillFlags(const FlagValues& values) {
  absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  FlagReader reader(values);
  PrefillFlags flags;
  flags.feed = *std::move(feed);
  ReadLimits(reader, flags.limits);
  ReadArrivalFlags(values, reader, flags);
  flags.arrivals.seed = flags.feed.seed;
  flags.length_scale = reader.Real("--length-scale", kLeastScale, kMostScale, 1);
  if (IsGiven(values, "--requests")) {
    flags.requests = reader.Integer("--requests", kRequests);
  }
  if (IsGiven(values, "--max-delay")) {
    flags.max_delay = reader.Integer("--max-delay", kDelay);
  }
  if (IsGiven(values, "--discipline")) {
    flags.disciplines = {
        static_cast<Discipline>(reader.OneOf("--discipline", kDisciplineNames))};
  } else {
    flags.disciplines = {Discipline::kFirstCome, Discipline::kFewestTokens,
                         Discipline::kLongestFirst, Discipline::kBalanced};
  }
  flags.cost = ReadCost(values, reader);
  if (!reader.status().ok()) return reader.status();
  return flags;
}

std::vector<std::string> UnusedInPrefill(const FlagValues& values) {
  std::vector<std::string> unused;
  const auto add = [&](const std::string& flag) {
    if (IsGiven(values, flag)) unused.push_back(flag);
  };
  if (IsGiven(values, "--arrivals-file")) {
    for (const char* flag : {"--arrivals", "--burst-seconds", "--rate"}) add(flag);
  } else if (const auto pattern = values.find("--arrivals");
             pattern == values.end() || pattern->second != "bursty") {
    add("--burst-seconds");
  }
  for (const char* flag :
       {"--backlog-limit", "--crossover-error", "--gap", "--micro-batches", "--policy",
        "--queue-thresholds", "--split-documents", "--split-overlong", "--steps",
        "--time-limit", "--window-batches"}) {
    add(flag);
  }
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) add(flag.name);
  if (IsGiven(values, "--model")) {
    add("--ns-per-token");
  } else {
    for (const char* flag : {"--cp", "--hardware", "--tp"}) add(flag);
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

}  // namespace evenpack
