#include "server/core/packing/wlb.h"

#include <vector>

#include "server/core/packing/assignment.h"
#include "server/core/packing/load_tree.h"

namespace evenpack {

Packing PackWlb(const WorkList& work_list, size_t micro_batches, uint32_t max_length,
                const WorkloadTable& workload) {
  LoadTree by_workload(micro_batches);
  LoadTree by_length(micro_batches);
  std::vector<int64_t> attention(micro_batches, 0);
  std::vector<uint32_t> assigned;
  assigned.reserve(work_list.size());
  for (const Document* document : work_list) {
    const int64_t room = int64_t{max_length} - document->length;
    size_t bin = by_workload.Least();
    if (by_length.LoadOf(bin) > room) bin = by_length.Least();
    if (by_length.LoadOf(bin) > room) {
      assigned.push_back(kLeftOver);
      continue;
    }
    assigned.push_back(static_cast<uint32_t>(bin));
    const int64_t length = by_length.LoadOf(bin) + document->length;
    attention[bin] += workload.AttentionNs(document->length);
    by_length.Set(bin, length);
    by_workload.Set(bin,
                    attention[bin] + workload.LinearNs(static_cast<uint64_t>(length)));
  }
  return Collect(work_list, assigned, micro_batches, workload);
}

}  // namespace evenpack
