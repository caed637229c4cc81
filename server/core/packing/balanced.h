// Packing by the policy `balanced`, once it is known which documents go: longest first,
// each in the lightest micro-batch with room, then trimmed and finished.
#ifndef EVENPACK_SERVER_CORE_PACKING_BALANCED_H_
#define EVENPACK_SERVER_CORE_PACKING_BALANCED_H_

#include <cstdint>

#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/step_terms.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

struct BalancedPacking {
  Packing packing;
  // Of the local search.
  uint64_t operations = 0;
};

// `due` first, oldest first, and none of it is trimmed; `goes` is sorted longest first.
// Unlike PackWlb a document that does not fit the lightest micro-batch goes to the
// lightest of those it does fit. `finish`: trim (trim.h) and search (local_search.h).
// What micro-batches cost is told by the table as it is.
BalancedPacking PackBalanced(const WorkList& due, const WorkList& goes,
                             const StepTerms& terms, bool finish,
                             const LeaningWorkload& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_BALANCED_H_
