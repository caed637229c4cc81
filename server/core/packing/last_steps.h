// What is left where nothing comes after it.
#ifndef EVENPACK_SERVER_CORE_PACKING_LAST_STEPS_H_
#define EVENPACK_SERVER_CORE_PACKING_LAST_STEPS_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/step_terms.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Documents that are taken together: so many tokens of so much work.
struct LeftRest {
  int64_t tokens = 0;
  int64_t work_ns = 0;
};

// How long the micro-batches of the last steps will wait for the heaviest of their
// step, all together, in nanoseconds. An estimate: documents (longest first, none
// longer than a micro-batch) are placed each in the lightest micro-batch of all these
// steps that has room, the heaviest micro-batches are a step, and so on; the rest fills
// what is lower. Of as many steps as the tokens need, and up to two more, the best
// number. 0 where nothing is left, or it needs more than sixteen steps.
absl::int128 ExcessOfLastSteps(const WorkList& longest_first, const LeftRest& rest,
                               const StepTerms& terms, const LeaningWorkload& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_LAST_STEPS_H_
