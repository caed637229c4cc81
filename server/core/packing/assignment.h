// From "document i goes to bin b" to micro-batches.
#ifndef EVENPACK_SERVER_CORE_PACKING_ASSIGNMENT_H_
#define EVENPACK_SERVER_CORE_PACKING_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "server/core/cost/workload_table.h"
#include "server/core/document/padding.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

inline constexpr uint32_t kLeftOver = std::numeric_limits<uint32_t>::max();

// bins[i] < bin_count is the micro-batch of work_list[i], or kLeftOver. Documents keep
// their order within a micro-batch.
Packing Collect(const WorkList& work_list, std::span<const uint32_t> bins,
                size_t bin_count, const PaddingRule& padding,
                const WorkloadTable& workload);

// Sets padding and workload_ns from documents and tokens.
void Complete(const PaddingRule& padding, const WorkloadTable& workload,
              MicroBatch& micro_batch);

// W = sum of W_a over the documents + W_l of the tokens and the padding (WLB-LLM
// section 4.1; padding is not attended to).
int64_t Workload(const MicroBatch& micro_batch, const WorkloadTable& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_ASSIGNMENT_H_
