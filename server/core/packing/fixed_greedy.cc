#include "server/core/packing/fixed_greedy.h"

#include <algorithm>
#include <vector>

#include "server/core/packing/assign_to_lightest.h"
#include "server/core/packing/assignment.h"

namespace evenpack {

Packing PackFixedGreedy(const WorkList& work_list, size_t micro_batches,
                        const Capacity& capacity, const WorkloadTable& workload) {
  const std::vector<uint32_t> bins =
      AssignToLightest(work_list, micro_batches, capacity, workload);
  Packing packing = Collect(work_list, bins, micro_batches, capacity.padding, workload);
  std::stable_sort(packing.micro_batches.begin(), packing.micro_batches.end(),
                   [](const MicroBatch& a, const MicroBatch& b) {
                     return a.workload_ns > b.workload_ns;
                   });
  return packing;
}

}  // namespace evenpack
