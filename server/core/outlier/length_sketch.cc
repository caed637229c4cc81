#include "server/core/outlier/length_sketch.h"

#include <algorithm>
#include <bit>

namespace evenpack {
namespace {

constexpr int kBucketBits = std::countr_zero(LengthSketch::kBucketsPerDoubling);
// A batch's weight falls by one part in 2^6 with each that follows.
constexpr int kAgeShift = 6;

uint64_t Sum(uint64_t a, uint64_t b) {
  return std::min(a + b, LengthSketch::kMaxWeight);
}

}  // namespace

size_t LengthSketch::BucketOf(uint32_t length) {
  if (length < kBucketsPerDoubling) return length;
  const auto shift = static_cast<size_t>(std::bit_width(length)) - 1 - kBucketBits;
  return shift * kBucketsPerDoubling + (length >> shift);
}

uint32_t LengthSketch::LeastOf(size_t bucket) {
  if (bucket < 2 * kBucketsPerDoubling) return static_cast<uint32_t>(bucket);
  const size_t shift = bucket / kBucketsPerDoubling - 1;
  return static_cast<uint32_t>((bucket - shift * kBucketsPerDoubling) << shift);
}

uint32_t LengthSketch::MiddleOf(size_t bucket) {
  const uint64_t least = LeastOf(bucket);
  const uint64_t next = bucket + 1 < kBuckets ? LeastOf(bucket + 1) : uint64_t{1} << 31;
  return static_cast<uint32_t>((least + next) / 2);
}

bool LengthSketch::AreWeights(const std::vector<uint64_t>& weights) {
  // A document has a token at least, so that the first bucket has none.
  const bool ends_well =
      weights.empty() || (weights.front() == 0 && weights.back() != 0);
  return weights.size() <= kBuckets && ends_well &&
         std::all_of(weights.begin(), weights.end(),
                     [](uint64_t weight) { return weight <= kMaxWeight; });
}

void LengthSketch::Age() {
  // Rounded up, so that what no longer comes goes away.
  for (uint64_t& weight : weights_) {
    weight -= (weight + (uint64_t{1} << kAgeShift) - 1) >> kAgeShift;
  }
  while (!weights_.empty() && weights_.back() == 0) weights_.pop_back();
}

void LengthSketch::Add(uint32_t length) {
  const size_t bucket = BucketOf(length);
  if (weights_.size() <= bucket) weights_.resize(bucket + 1, 0);
  weights_[bucket] = Sum(weights_[bucket], kUnit);
}

absl::uint128 LengthSketch::Tokens() const {
  absl::uint128 tokens = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    tokens += absl::uint128(weights_[i]) * MiddleOf(i);
  }
  return tokens;
}

std::vector<absl::uint128> LengthSketch::RatesPerToken() const {
  const absl::uint128 tokens = Tokens();
  std::vector<absl::uint128> rates;
  rates.reserve(weights_.size());
  for (const uint64_t weight : weights_) {
    rates.push_back((absl::uint128(weight) << kRateBits) / tokens);
  }
  return rates;
}

}  // namespace evenpack
