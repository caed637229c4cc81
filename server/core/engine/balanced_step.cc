#include "server/core/engine/balanced_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/core/document/step.h"
#include "server/core/engine/place_micro_batches.h"
#include "server/core/packing/balanced.h"

namespace evenpack {
namespace {

// More than any step has.
constexpr uint64_t kAllTokens = uint64_t{1} << 62;

Packing PackAndPlace(const JobSpec& spec, StepKind kind, BalancedRelease release,
                     uint64_t& operations) {
  const BalancedSpec& balanced = spec.policy.balanced;
  // Nothing is trimmed either where nothing may wait, or has anything to wait for.
  if (spec.max_delay == 0 || kind == StepKind::kDrain) {
    release.terms.least_tokens = kAllTokens;
  }
  BalancedPacking packed =
      PackBalanced(release.due, release.goes, release.terms, balanced.finish,
                   {spec.workload, release.packing_lean_256ths});
  operations += release.levels + packed.operations;
  packed.packing.left_over.insert(packed.packing.left_over.end(), release.held.begin(),
                                  release.held.end());
  if (balanced.place) PlaceMicroBatches(spec, packed.packing.micro_batches);
  return std::move(packed.packing);
}

uint64_t PackedTokens(const Packing& packing) {
  uint64_t tokens = 0;
  for (const MicroBatch& micro_batch : packing.micro_batches) {
    tokens += micro_batch.tokens;
  }
  return tokens;
}

}  // namespace

BalancedStep FormBalancedStep(const JobSpec& spec, const LengthSketch& sketch,
                              const BalancedPool& pool) {
  BalancedStep step;
  const uint64_t allowed = spec.policy.balanced.max_in_flight_tokens;
  std::optional<uint64_t> most_tokens;
  do {
    step.packing =
        PackAndPlace(spec, pool.kind, ReleaseBalanced(spec, sketch, pool, most_tokens),
                     step.operations);
    if (allowed == 0) break;
    most_tokens = std::max(allowed, PackedTokens(step.packing) / 8 * 7);
  } while (InFlightTokens(spec, step.packing.micro_batches) > allowed);
  return step;
}

}  // namespace evenpack
