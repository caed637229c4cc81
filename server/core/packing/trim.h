// Holds back documents by which a few micro-batches of a step are heavier than the
// others.
#ifndef EVENPACK_SERVER_CORE_PACKING_TRIM_H_
#define EVENPACK_SERVER_CORE_PACKING_TRIM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/step_terms.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

struct TrimTerms : StepTerms {
  // The first so many documents of the work list stay, whatever they cost.
  size_t kept = 0;
};

// Where documents are much alike, one more of them in some micro-batches than in others
// is what those wait for. The heaviest micro-batches, as many as pay best, give up
// their last document each, where what the others no longer wait for is more than the
// price of the delay: bins[i] becomes kLeftOver. A few times over.
void Trim(const WorkList& work_list, const TrimTerms& terms,
          const LeaningWorkload& workload, std::vector<uint32_t>& bins);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_TRIM_H_
