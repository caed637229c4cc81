// Plain packing: documents in arrival order, each micro-batch filled up to the window.
// What trainers do without a balancer, and "Plain-4D" of WLB-LLM section 7.
#ifndef EVENPACK_SERVER_CORE_PACKING_ORIGINAL_H_
#define EVENPACK_SERVER_CORE_PACKING_ORIGINAL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/cost/workload_table.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

struct OriginalOptions {
  size_t micro_batches = 1;
  Capacity capacity;
  // True: a document is cut where a micro-batch is full and goes on in the next, as a
  // piece of its own. False: a document that doesn't fit opens the next micro-batch;
  // one longer than the capacity gets a micro-batch to itself.
  bool split_documents = false;
};

Packing PackOriginal(const WorkList& work_list, const OriginalOptions& options,
                     const WorkloadTable& workload);

// The same of lengths alone, where micro-batches have `window` tokens and neither a
// layout nor cut documents: micro-batch i has documents ends[i - 1], or 0, to
// ends[i] - 1, and what is left over begins at the last end.
std::vector<size_t> OriginalEnds(std::span<const uint32_t> lengths,
                                 size_t micro_batches, uint32_t window);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_ORIGINAL_H_
