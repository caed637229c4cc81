// Documents one after another into the lightest micro-batch that has room.
#ifndef EVENPACK_SERVER_CORE_PACKING_ASSIGN_TO_LIGHTEST_H_
#define EVENPACK_SERVER_CORE_PACKING_ASSIGN_TO_LIGHTEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Per document of the work list, in order, the micro-batch of least workload that stays
// within its capacity, or kLeftOver (assignment.h); a document longer than the capacity
// fits an empty micro-batch only. Ties go to the lowest index.
std::vector<uint32_t> AssignToLightest(const WorkList& work_list, size_t micro_batches,
                                       const Capacity& capacity,
                                       const LeaningWorkload& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_ASSIGN_TO_LIGHTEST_H_
