// Which documents the policy `balanced` lets into a step: the job's terms for
// packing/release_by_workload.h, or for queues by class.
#ifndef EVENPACK_SERVER_CORE_ENGINE_BALANCED_RELEASE_H_
#define EVENPACK_SERVER_CORE_ENGINE_BALANCED_RELEASE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "server/core/document/document.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_state.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/packing/step_terms.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// The job's price of delay where its tokens wait so long on average
// (server/core/outlier/mean_delay.h), and lengths are so new (novelty.h). Where it asks
// for equal tokens or shares, it is they that documents wait for, and the price stays
// as at first.
uint32_t DelayPriceOf(const JobSpec& spec, uint64_t mean_delay, uint64_t novelty);

// The sketch once `admitted` is a batch more of it; as it is where that is empty.
LengthSketch SketchAfter(const LengthSketch& sketch,
                         std::span<const Document> admitted);

// The documents of one step.
struct BalancedPool {
  StepKind kind = StepKind::kFullBatch;
  // Global batches admitted, this step's included.
  uint64_t batches_admitted = 0;
  // DelayPriceOf().
  uint32_t delay_price_ppm = 0;
  // Goes first: oldest first.
  WorkList due;
  // In any order.
  WorkList others;
};

struct BalancedRelease {
  // With those that go for the sake of the long documents' share.
  WorkList due;
  // Sorted longest first.
  WorkList goes;
  WorkList held;
  // For PackBalanced(), and how far its workload leans (attention_lean.h).
  StepTerms terms;
  uint32_t packing_lean_256ths = 0;
  // Levels tried.
  uint64_t levels = 0;
  // A step of at least half a global batch, whose micro-batches wait no longer for the
  // heaviest than it is worth that its documents go a batch earlier. Not kByClass.
  bool pays = false;
};

// `most_tokens`: fewer than the job's own bounds allow, at least max_length. What is
// due goes first, and beyond that waits.
BalancedRelease ReleaseBalanced(const JobSpec& spec, const LengthSketch& sketch,
                                BalancedPool pool,
                                std::optional<uint64_t> most_tokens = std::nullopt);

// Whether what waits makes a step that pays by itself, so that nothing is admitted to
// it: outliers of a like then go while no other document waits for them. Never where
// the job asks for steps of equal tokens.
bool WaitingMakesAStep(const JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_BALANCED_RELEASE_H_
