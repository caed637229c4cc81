#include "server/core/engine/sequence_ranges.h"

#include <algorithm>

namespace evenpack {

bool AreRanges(const SequenceRanges& ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first >= ranges[i].end) return false;
    if (i > 0 && ranges[i - 1].end >= ranges[i].first) return false;
  }
  return true;
}

void AddRange(SequenceRange range, SequenceRanges& ranges) {
  // Those that overlap or touch it become part of it.
  const auto begin = std::lower_bound(
      ranges.begin(), ranges.end(), range.first,
      [](const SequenceRange& held, uint64_t first) { return held.end < first; });
  auto end = begin;
  for (; end != ranges.end() && end->first <= range.end; ++end) {
    range.first = std::min(range.first, end->first);
    range.end = std::max(range.end, end->end);
  }
  ranges.insert(ranges.erase(begin, end), range);
}

uint64_t NextOutside(const SequenceRanges& ranges, uint64_t sequence) {
  const auto next = std::upper_bound(
      ranges.begin(), ranges.end(), sequence,
      [](uint64_t number, const SequenceRange& range) { return number < range.end; });
  return next != ranges.end() && next->first <= sequence ? next->end : sequence;
}

}  // namespace evenpack
