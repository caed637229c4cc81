#include "server/core/packing/wlb.h"

#include <limits>
#include <vector>

#include "server/core/packing/assignment.h"
#include "server/core/packing/load_tree.h"

namespace evenpack {

namespace {

// The load of a micro-batch that takes no more documents.
constexpr int64_t kFull = std::numeric_limits<int64_t>::max();

}  // namespace

Packing PackWlb(const WorkList& work_list, size_t micro_batches,
                const Capacity& capacity, const WorkloadTable& workload) {
  // Copies, which stay in registers.
  const PaddingRule padding = capacity.padding;
  const uint32_t most_documents = capacity.documents;
  const auto most_tokens = int64_t{capacity.tokens};
  LoadTree by_workload(micro_batches);
  LoadTree by_length(micro_batches);
  std::vector<int64_t> attention(micro_batches, 0);
  std::vector<uint32_t> documents(micro_batches, 0);
  std::vector<uint32_t> assigned;
  assigned.reserve(work_list.size());
  for (const Document* document : work_list) {
    const auto size = static_cast<int64_t>(PaddedLength(padding, document->length));
    const int64_t room = most_tokens - size;
    size_t bin = by_workload.Least();
    if (by_length.LoadOf(bin) > room) bin = by_length.Least();
    if (by_length.LoadOf(bin) > room) {
      assigned.push_back(kLeftOver);
      continue;
    }
    assigned.push_back(static_cast<uint32_t>(bin));
    if (++documents[bin] == most_documents) {
      by_length.Set(bin, kFull);
      by_workload.Set(bin, kFull);
      continue;
    }
    const int64_t length = by_length.LoadOf(bin) + size;
    attention[bin] += workload.AttentionNs(document->length);
    by_length.Set(bin, length);
    by_workload.Set(bin,
                    attention[bin] + workload.LinearNs(static_cast<uint64_t>(length)));
  }
  return Collect(work_list, assigned, micro_batches, capacity.padding, workload);
}

}  // namespace evenpack
