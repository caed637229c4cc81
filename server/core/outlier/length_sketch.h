// The distribution of a stream's document lengths, as it has been of late.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_LENGTH_SKETCH_H_
#define EVENPACK_SERVER_CORE_OUTLIER_LENGTH_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"

namespace evenpack {

// Counts by buckets, eight to each doubling of the length, so that a bucket's lengths
// are within an eighth of each other. What a global batch brought counts 63/64 of
// itself with each batch after it, so that a drift is followed and a single batch moves
// little. All integers; two sketches of parts of a stream add up to that of the whole.
// Not thread-safe.
class LengthSketch {
 public:
  // Buckets of lengths up to 2^31 - 1.
  static constexpr size_t kBuckets = 232;
  static constexpr size_t kBucketsPerDoubling = 8;
  // Weight of a document that was just added.
  static constexpr uint64_t kUnit = 4096;
  // No bucket weighs more.
  static constexpr uint64_t kMaxWeight = uint64_t{1} << 62;

  static size_t BucketOf(uint32_t length);
  // The least length of a bucket, and the one that stands for it: its middle.
  static uint32_t LeastOf(size_t bucket);
  static uint32_t MiddleOf(size_t bucket);

  LengthSketch() = default;
  // By bucket, without zeros at the end: what weights() returned.
  explicit LengthSketch(std::vector<uint64_t> weights) : weights_(std::move(weights)) {}
  // Whether the above may be built from these.
  static bool AreWeights(const std::vector<uint64_t>& weights);

  // A batch begins: what is known counts a little less.
  void Age();
  // length >= 1.
  void Add(uint32_t length);

  bool empty() const { return weights_.empty(); }
  const std::vector<uint64_t>& weights() const { return weights_; }
  // Sum over the buckets of weight times middle.
  absl::uint128 Tokens() const;

  // By bucket: documents of it for each token of the stream, in units of 2^-kRateBits,
  // so that a rate times a batch's tokens stays within 128 bits. Not of an empty
  // sketch.
  static constexpr int kRateBits = 62;
  std::vector<absl::uint128> RatesPerToken() const;

  friend bool operator==(const LengthSketch&, const LengthSketch&) = default;

 private:
  std::vector<uint64_t> weights_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_LENGTH_SKETCH_H_
