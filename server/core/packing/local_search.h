// Finishes a packing: moves and swaps between micro-batches.
#ifndef EVENPACK_SERVER_CORE_PACKING_LOCAL_SEARCH_H_
#define EVENPACK_SERVER_CORE_PACKING_LOCAL_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Takes documents out of the heaviest micro-batch, or swaps one of them for one of a
// light micro-batch, as long as that makes the heavier of the two lighter; ends where
// the heaviest is within a 16,384th of what no packing of these documents can fall
// below (the mean, or the heaviest document alone), where nothing helps any more, or
// after `max_operations` pairs of a document and a micro-batch that were looked at. A
// number and no clock, so that it comes to the same everywhere. Capacity is kept, and
// what is left over stays so. Returns the operations.
uint64_t ImproveByLocalSearch(const WorkList& work_list, size_t micro_batches,
                              const Capacity& capacity, const LeaningWorkload& workload,
                              uint64_t max_operations, std::vector<uint32_t>& bins);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_LOCAL_SEARCH_H_
