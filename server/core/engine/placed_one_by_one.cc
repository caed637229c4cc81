#include "server/core/engine/placed_one_by_one.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "server/core/engine/job_layout.h"

namespace evenpack {

size_t PlacedOneByOne(const JobSpec& spec, const LengthSketch& sketch,
                      const WorkList& longest_first) {
  const absl::uint128 batch = GlobalBatchTokens(spec);
  const absl::uint128 tokens = sketch.Tokens();
  const size_t most = size_t{16} * spec.micro_batches + 64;
  absl::uint128 weight = 0;
  uint32_t from = 0;
  for (size_t bucket = sketch.weights().size(); bucket-- > 0;) {
    weight += sketch.weights()[bucket];
    if (weight * batch > tokens * 4 * spec.micro_batches) break;
    from = LengthSketch::LeastOf(bucket);
  }
  const auto end = std::partition_point(
      longest_first.begin(), longest_first.end(),
      [from](const Document* document) { return document->length >= from; });
  return std::min(static_cast<size_t>(end - longest_first.begin()), most);
}

}  // namespace evenpack
