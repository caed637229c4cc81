#include "client/cli/document_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace evenpack {

uint64_t DrawBelow(uint64_t bound, std::mt19937_64& generator) {
  // 2^64 mod bound draws too many at the top.
  const uint64_t excess = (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;
  const uint64_t last = std::numeric_limits<uint64_t>::max() - excess;
  uint64_t draw = generator();
  while (draw > last) draw = generator();
  return draw % bound;
}

DocumentStream::DocumentStream(std::span<const uint32_t> lengths, uint64_t passes,
                               uint64_t seed, uint64_t most)
    : lengths_(lengths), total_(std::min(passes * lengths.size(), most)), seed_(seed) {}

uint32_t DocumentStream::Next() {
  if (at_ == lengths_.size()) {
    at_ = 0;
    Shuffle(position_ / lengths_.size());
  }
  ++position_;
  return shuffled_.empty() ? lengths_[at_++] : shuffled_[at_++];
}

void DocumentStream::Shuffle(uint64_t pass) {
  std::seed_seq seeds{static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32),
                      static_cast<uint32_t>(pass)};
  std::mt19937_64 generator(seeds);
  shuffled_.assign(lengths_.begin(), lengths_.end());
  for (size_t i = shuffled_.size() - 1; i > 0; --i) {
    std::swap(shuffled_[i], shuffled_[DrawBelow(i + 1, generator)]);
  }
}

}  // namespace evenpack
