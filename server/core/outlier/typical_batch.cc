#include "server/core/outlier/typical_batch.h"

#include <algorithm>

#include "absl/numeric/int128.h"

namespace evenpack {

std::vector<Document> TypicalBatch(const LengthSketch& sketch, uint64_t tokens,
                                   uint32_t shortest) {
  std::vector<Document> documents;
  if (sketch.empty()) return documents;
  constexpr absl::uint128 kWhole = absl::uint128(1) << LengthSketch::kRateBits;
  const std::vector<absl::uint128> rates = sketch.RatesPerToken();
  absl::uint128 due = kWhole / 2;
  for (size_t bucket = rates.size(); bucket-- > 0;) {
    const uint32_t middle = LengthSketch::MiddleOf(bucket);
    const uint32_t length = std::max(middle, shortest);
    due += rates[bucket] * middle * tokens / length;
    const auto count = static_cast<size_t>(due >> LengthSketch::kRateBits);
    due -= kWhole * count;
    Document document;
    document.length = length;
    documents.insert(documents.end(), count, document);
  }
  return documents;
}

}  // namespace evenpack
