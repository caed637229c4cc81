// Forms a step by the policy `balanced`: chooses documents, packs them, and places the
// micro-batches.
#ifndef EVENPACK_SERVER_CORE_ENGINE_BALANCED_STEP_H_
#define EVENPACK_SERVER_CORE_ENGINE_BALANCED_STEP_H_

#include <cstdint>

#include "server/core/engine/balanced_release.h"
#include "server/core/engine/job_spec.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/packing/packing.h"

namespace evenpack {

struct BalancedStep {
  // What is held back is left over.
  Packing packing;
  // Levels, and exchanges of documents, that were tried.
  uint64_t operations = 0;
};

// Where the step would keep more tokens in flight than the job allows, it is formed
// again of fewer tokens, and so on: of as many as are allowed in flight at last, which
// no order exceeds.
BalancedStep FormBalancedStep(const JobSpec& spec, const LengthSketch& sketch,
                              const BalancedPool& pool);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_BALANCED_STEP_H_
