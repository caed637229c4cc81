#include "server/core/engine/reserve.h"

#include <algorithm>
#include <vector>

#include "absl/numeric/int128.h"
#include "server/core/engine/attention_lean.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/placed_one_by_one.h"
#include "server/core/outlier/typical_batch.h"

namespace evenpack {
namespace {

constexpr int64_t kPartsPerMillion = 1'000'000;
// Of a step's workload.
constexpr int64_t kLeastExcessPpm = kPartsPerMillion / 20;

// What is shorter fills up, whatever its length.
uint32_t ShortestOf(const JobSpec& spec) {
  return std::max<uint32_t>(spec.window / 256, 1);
}

bool MayKeepOne(const JobSpec& spec) {
  const BalancedSpec& balanced = spec.policy.balanced;
  return balanced.release == ReleaseMode::kByWorkload &&
         !balanced.token_spread_ppm.has_value() &&
         !balanced.long_share_spread_ppm.has_value() && spec.max_delay.value_or(2) >= 2;
}

}  // namespace

Reserve ReserveOf(const JobSpec& spec, const LengthSketch& sketch,
                  const ReleaseTerms& terms) {
  Reserve reserve;
  if (!MayKeepOne(spec)) return reserve;
  const uint64_t batch = GlobalBatchTokens(spec);
  std::vector<Document> typical = TypicalBatch(sketch, batch, ShortestOf(spec));
  const uint32_t longest = LongestDocument(spec);
  for (Document& document : typical) {
    document.batch = terms.price.batch;
    // A bucket's middle may be longer than any document.
    document.length = std::min(document.length, longest);
  }
  const WorkList documents = PointTo(typical);
  ReleaseTerms alone = terms;
  alone.placed_one_by_one = PlacedOneByOne(spec, sketch, documents);
  const Release release =
      ReleaseByWorkload({}, documents, alone, {spec.workload, ReleaseLean(spec)});
  reserve.levels = release.levels;
  // A document of the reserve waits for a batch or two.
  const int64_t worth =
      std::max(int64_t{terms.price.share_ppm} * 5 / 2, kLeastExcessPpm);
  if (absl::int128(release.excess_ns) * kPartsPerMillion >
      absl::int128(release.workload_ns) * worth) {
    reserve.tokens = batch / 4 * 3;
  }
  return reserve;
}

}  // namespace evenpack
