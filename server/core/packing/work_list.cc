#include "server/core/packing/work_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace evenpack {
namespace {

// A length's complement above the document's position: ascending keys are documents
// longest first, equal lengths in order.
using Key = uint64_t;

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
// Below this many keys a comparison sort is the faster one (tests/bench).
constexpr size_t kRadixSortFrom = 512;

// Stable counting sort by the digit at `shift`.
void SortByDigit(const std::vector<Key>& from, int shift, std::vector<Key>& to) {
  std::array<uint32_t, kDigits> next{};
  for (const Key key : from) ++next[(key >> shift) % kDigits];
  uint32_t before = 0;
  for (uint32_t& count : next) before += std::exchange(count, before);
  for (const Key key : from) to[next[(key >> shift) % kDigits]++] = key;
}

// The keys come in the order of their low halves, so only the high one is sorted by.
void Sort(std::vector<Key>& keys) {
  if (keys.size() < kRadixSortFrom) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<Key> other(keys.size());
  for (int shift = 32; shift < 64; shift += kDigitBits) {
    SortByDigit(keys, shift, other);
    keys.swap(other);
  }
}

}  // namespace

WorkList PointTo(std::span<const Document> documents) {
  WorkList work_list;
  work_list.reserve(documents.size());
  for (const Document& document : documents) work_list.push_back(&document);
  return work_list;
}

void SortLongestFirst(WorkList& work_list) {
  std::vector<Key> keys;
  keys.reserve(work_list.size());
  for (size_t i = 0; i < work_list.size(); ++i) {
    keys.push_back(Key{~work_list[i]->length} << 32 | i);
  }
  Sort(keys);
  WorkList sorted;
  sorted.reserve(work_list.size());
  for (const Key key : keys) sorted.push_back(work_list[key & 0xffffffffU]);
  work_list = std::move(sorted);
}

void SortOldestFirst(WorkList& work_list) {
  std::sort(work_list.begin(), work_list.end(),
            [](const Document* a, const Document* b) { return IsOlder(*a, *b); });
}

}  // namespace evenpack
