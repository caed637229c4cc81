#include "client/cli/percentile.h"

#include <cstddef>

namespace evenpack {
namespace {

// From 1.
uint64_t NearestRank(uint64_t count, int percent) {
  const auto share = static_cast<uint64_t>(percent);
  // ceil(count * share / 100) without overflow.
  return count / 100 * share + (count % 100 * share + 99) / 100;
}

}  // namespace

double Percentile(std::span<const double> sorted, int percent) {
  return sorted[static_cast<size_t>(NearestRank(sorted.size(), percent) - 1)];
}

uint64_t Histogram::Percentile(int percent) const {
  const uint64_t rank = NearestRank(total_, percent);
  uint64_t seen = 0;
  for (const auto& [value, count] : counts_) {
    seen += count;
    if (seen >= rank) return value;
  }
  return 0;
}

}  // namespace evenpack
