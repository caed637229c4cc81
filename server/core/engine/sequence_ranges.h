// Sets of a stream's sequence numbers that are few ranges.
#ifndef EVENPACK_SERVER_CORE_ENGINE_SEQUENCE_RANGES_H_
#define EVENPACK_SERVER_CORE_ENGINE_SEQUENCE_RANGES_H_

#include <cstdint>
#include <vector>

namespace evenpack {

// [first, end), not empty.
struct SequenceRange {
  uint64_t first = 0;
  uint64_t end = 0;

  friend bool operator==(const SequenceRange&, const SequenceRange&) = default;
};

// Rising, with a number that is in none of them between any two.
using SequenceRanges = std::vector<SequenceRange>;

bool AreRanges(const SequenceRanges& ranges);

void AddRange(SequenceRange range, SequenceRanges& ranges);

// The least number from `sequence` on that is in none of them.
uint64_t NextOutside(const SequenceRanges& ranges, uint64_t sequence);

inline bool IsIn(const SequenceRanges& ranges, uint64_t sequence) {
  return !ranges.empty() && NextOutside(ranges, sequence) != sequence;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_SEQUENCE_RANGES_H_
