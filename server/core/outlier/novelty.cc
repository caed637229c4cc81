#include "server/core/outlier/novelty.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/numeric/int128.h"

namespace evenpack {
namespace {

constexpr int64_t kBatchesOfNovelty = 8;
constexpr uint64_t kLeastPart = kNoveltyUnit / 128;

constexpr size_t kDoublings =
    LengthSketch::kBuckets / LengthSketch::kBucketsPerDoubling;
// Shares of the tokens, in units of kNoveltyUnit.
using Shares = std::array<int64_t, kDoublings>;

Shares SharesOf(const LengthSketch& sketch) {
  absl::uint128 tokens = 0;
  std::array<absl::uint128, kDoublings> of_doubling{};
  for (size_t bucket = 0; bucket < sketch.weights().size(); ++bucket) {
    const absl::uint128 of_bucket =
        absl::uint128(sketch.weights()[bucket]) * LengthSketch::MiddleOf(bucket);
    of_doubling[bucket / LengthSketch::kBucketsPerDoubling] += of_bucket;
    tokens += of_bucket;
  }
  Shares shares{};
  if (tokens == 0) return shares;
  for (size_t i = 0; i < kDoublings; ++i) {
    shares[i] = static_cast<int64_t>(of_doubling[i] * kNoveltyUnit / tokens);
  }
  return shares;
}

}  // namespace

uint64_t NoveltyAfter(uint64_t novelty, const LengthSketch& sketch,
                      std::span<const Document> admitted) {
  LengthSketch batch;
  for (const Document& document : admitted) batch.Add(document.length);
  const Shares of_batch = SharesOf(batch);
  const Shares of_stream = SharesOf(sketch);
  int64_t apart = 0;
  for (size_t i = 0; i < kDoublings; ++i) {
    apart += std::max(of_batch[i], of_stream[i]) - std::min(of_batch[i], of_stream[i]);
  }
  // A state that was read may say anything.
  const auto before = static_cast<int64_t>(std::min(novelty, kNoveltyUnit));
  return static_cast<uint64_t>(before + (apart / 2 - before) / kBatchesOfNovelty);
}

uint32_t PriceWhereNew(uint64_t novelty, uint32_t price_ppm) {
  const uint64_t known = kNoveltyUnit - std::min(novelty, kNoveltyUnit);
  uint64_t part = std::min(2 * known, kNoveltyUnit);
  for (int power = 1; power < 8; power *= 2) part = part * part / kNoveltyUnit;
  return static_cast<uint32_t>(price_ppm * std::max(part, kLeastPart) / kNoveltyUnit);
}

}  // namespace evenpack
