// Workload-balanced packing into micro-batches of varying length: WLB-LLM section 4.2,
// Algorithm 1, lines 13 to 26.
#ifndef EVENPACK_SERVER_CORE_PACKING_WLB_H_
#define EVENPACK_SERVER_CORE_PACKING_WLB_H_

#include <cstddef>

#include "server/core/cost/workload_table.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Each document of the work list, in order, goes to the micro-batch of least workload
// if its length allows (length + d <= capacity.tokens), else to the one of least length
// if that allows, else it is left over. Ties go to the lowest index. Lengths are those
// of padded documents; a micro-batch that has capacity.documents takes no part.
Packing PackWlb(const WorkList& work_list, size_t micro_batches,
                const Capacity& capacity, const WorkloadTable& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_WLB_H_
