// Fixed-length greedy packing over one or more global batches: "Fixed-4D" of WLB-LLM
// section 7 with one batch.
#ifndef EVENPACK_SERVER_CORE_PACKING_FIXED_GREEDY_H_
#define EVENPACK_SERVER_CORE_PACKING_FIXED_GREEDY_H_

#include <cstddef>

#include "server/core/cost/workload_table.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Each document of the work list, in order, goes to the micro-batch of least workload
// that stays within its capacity; one longer than that fits an empty micro-batch only.
// Ties go to the lowest index. The micro-batches are returned heaviest first, so that
// cutting them into runs of N gives steps of similar work.
Packing PackFixedGreedy(const WorkList& work_list, size_t micro_batches,
                        const Capacity& capacity, const WorkloadTable& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_FIXED_GREEDY_H_
