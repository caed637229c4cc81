#include "client/cli/balanced_flags.h"

#include <array>
#include <cmath>
#include <string_view>

#include "absl/strings/str_replace.h"

namespace evenpack {
namespace {

using enum FlagKind;

constexpr double kMillion = 1e6;
constexpr double kLeastSpread = 1e-6;
constexpr FlagReader::Range kInFlight = {0, uint64_t{1} << 62};
// Attention that may cost nothing at all tells nothing.
constexpr double kMostError = 63.0 / 64;

// By the numbers of ReleaseMode.
constexpr std::array<std::string_view, 3> kReleases = {"workload", "class", "level"};

}  // namespace

const std::vector<FlagDefinition>& BalancedFlagDefinitions() {
  static const auto* const kFlags = new std::vector<FlagDefinition>{
      {"--token-cv", kValue, "X",
       "balanced: steps hold what a global batch does on average, a little over N x L "
       "tokens, give or take a share X of that, once enough documents wait; not with "
       "--release class (no bound)"},
      {"--long-share", kValue, "X",
       "balanced: long documents (a quarter window and more) have the stream's share "
       "of "
       "each step, give or take a share X of that; not with --release class (no "
       "bound)"},
      {"--delay-price", kValue, "P",
       "balanced: share of a step's time that it is worth to have all its documents a "
       "global batch earlier, where they wait for one on average; less with the square "
       "of what they wait, and next to nothing where lengths drift on (0.1)"},
      {"--attention-error", kValue, "E",
       "balanced: share by which attention may cost more or less than modelled (0.25)"},
      {"--release", kValue, "workload|class|level",
       "balanced: outliers go by workload and age, with a reserve where a stream wants "
       "one; or N of a class at a time, with thresholds that follow the stream; or by "
       "workload without a reserve (workload)"},
      {"--finish", kBoolean, "true|false",
       "balanced: trim micro-batches and swap documents between them at the end "
       "(true)"},
      {"--max-in-flight", kValue, "T",
       "balanced: most tokens of PP consecutive micro-batches of a rank; 0: as "
       "--max-length allows (0)"},
  };
  return *kFlags;
}

absl::Status InBalancedFlagNames(const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrReplaceAll(status.message(),
                              {{"policy.token_spread_ppm", "--token-cv"},
                               {"policy.long_share_spread_ppm", "--long-share"},
                               {"policy.max_in_flight_tokens", "--max-in-flight"}})};
}

BalancedSpec ReadBalanced(const FlagValues& values, FlagReader& reader,
                          BalancedSpec balanced) {
  balanced.delay_price_ppm = static_cast<uint32_t>(
      std::lround(kMillion * reader.Real("--delay-price", 0, 1,
                                         balanced.delay_price_ppm / kMillion)));
  if (IsGiven(values, "--token-cv")) {
    balanced.token_spread_ppm = static_cast<uint32_t>(
        std::lround(kMillion * reader.Real("--token-cv", kLeastSpread, 1, 1)));
  }
  if (IsGiven(values, "--long-share")) {
    balanced.long_share_spread_ppm = static_cast<uint32_t>(
        std::lround(kMillion * reader.Real("--long-share", 0, 1, 1)));
  }
  balanced.attention_error_64ths = static_cast<uint32_t>(
      std::lround(64 * reader.Real("--attention-error", 0, kMostError,
                                   balanced.attention_error_64ths / 64.0)));
  if (IsGiven(values, "--release")) {
    balanced.release = static_cast<ReleaseMode>(reader.OneOf("--release", kReleases));
  }
  balanced.finish = reader.Boolean("--finish", balanced.finish);
  balanced.max_in_flight_tokens =
      reader.Integer("--max-in-flight", kInFlight, balanced.max_in_flight_tokens);
  return balanced;
}

}  // namespace evenpack
