#include "client/cli/simulation/length_summary.h"

#include "client/cli/percentile.h"
#include "server/core/balance/step_balance.h"

namespace evenpack {

LengthSummary Summarise(std::span<const uint32_t> lengths, uint32_t window) {
  LengthSummary summary;
  if (lengths.empty()) return summary;
  Histogram histogram;
  double tokens = 0;
  double long_tokens = 0;
  for (const uint32_t length : lengths) {
    histogram.Add(length);
    tokens += length;
    if (IsLongDocument(length, window)) long_tokens += length;
  }
  const auto at = [&histogram](int percent) {
    return static_cast<uint32_t>(histogram.Percentile(percent));
  };
  summary.mean = tokens / static_cast<double>(lengths.size());
  summary.p50 = at(50);
  summary.p90 = at(90);
  summary.p99 = at(99);
  summary.max = at(100);
  summary.long_token_share = long_tokens / tokens;
  return summary;
}

}  // namespace evenpack
