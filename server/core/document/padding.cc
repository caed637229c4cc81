#include "server/core/document/padding.h"

#include <algorithm>

namespace evenpack {
namespace {

uint64_t PaddedTotal(const PaddingRule& rule, uint64_t tokens) {
  if (rule.ladder.empty()) {
    const uint64_t unit = rule.total_unit;
    return unit == 1 ? tokens : (tokens + unit - 1) / unit * unit;
  }
  if (tokens == 0) return 0;
  const auto rung = std::lower_bound(rule.ladder.begin(), rule.ladder.end(), tokens);
  return rung == rule.ladder.end() ? tokens : *rung;
}

}  // namespace

uint32_t CapacityWithin(const PaddingRule& rule, uint32_t limit) {
  if (rule.ladder.empty()) {
    return limit / rule.total_unit * rule.total_unit;
  }
  const auto above = std::upper_bound(rule.ladder.begin(), rule.ladder.end(), limit);
  return above == rule.ladder.begin() ? 0 : *(above - 1);
}

uint64_t PaddingOf(const PaddingRule& rule, const MicroBatch& micro_batch) {
  uint64_t padded = micro_batch.tokens;
  if (rule.document_unit != 1) {
    padded = 0;
    for (const Document& document : micro_batch.documents) {
      padded += PaddedLength(rule, document.length);
    }
  }
  return PaddedTotal(rule, padded) - micro_batch.tokens;
}

}  // namespace evenpack
