// A file's document lengths as one long stream: several passes over it.
#ifndef EVENPACK_CLIENT_CLI_DOCUMENT_STREAM_H_
#define EVENPACK_CLIENT_CLI_DOCUMENT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace evenpack {

// The name of the shuffle below, which reports carry.
inline constexpr std::string_view kShuffleName = "fisher_yates_mt19937_64";

// A number from 0 to bound - 1, all equally likely: draws of the generator at or above
// the largest multiple of `bound` are drawn again. bound >= 1.
uint64_t DrawBelow(uint64_t bound, std::mt19937_64& generator);

// The first pass is in the file's order. Each later pass p (from 1) is the file's order
// shuffled: for i from n - 1 down to 1, element i is swapped with element DrawBelow(i +
// 1), with std::mt19937_64 seeded by std::seed_seq{seed mod 2^32, seed / 2^32, p mod
// 2^32}. The standard fixes both generators to the bit, so every machine gets the same
// order. Not thread-safe.
class DocumentStream {
 public:
  // `lengths` must outlive the stream. passes >= 1. It ends after `most` documents if
  // the passes hold more.
  DocumentStream(std::span<const uint32_t> lengths, uint64_t passes, uint64_t seed,
                 uint64_t most = std::numeric_limits<uint64_t>::max());

  // Documents of the whole stream.
  uint64_t total() const { return total_; }
  // Documents read so far.
  uint64_t position() const { return position_; }
  bool AtEnd() const { return position_ == total(); }
  // The next document's length; not AtEnd().
  uint32_t Next();

 private:
  void Shuffle(uint64_t pass);

  const std::span<const uint32_t> lengths_;
  const uint64_t total_;
  const uint64_t seed_;
  uint64_t position_ = 0;
  size_t at_ = 0;                   // position within the pass
  std::vector<uint32_t> shuffled_;  // the present pass, from the second on
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_DOCUMENT_STREAM_H_
