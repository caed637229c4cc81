#include "server/core/packing/wlb.h"

#include <limits>
#include <optional>
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
  std::vector<int64_t> lengths(micro_batches, 0);
  // Built when it is first asked, which in most steps is never.
  std::optional<LoadTree> by_length;
  std::vector<int64_t> attention(micro_batches, 0);
  std::vector<uint32_t> documents(micro_batches, 0);
  std::vector<uint32_t> assigned;
  assigned.reserve(work_list.size());
  for (size_t i = 0; i < work_list.size(); ++i) {
    PrefetchBehind(work_list, i);
    const Document* document = work_list[i];
    const auto size = static_cast<int64_t>(PaddedLength(padding, document->length));
    const int64_t room = most_tokens - size;
    size_t bin = by_workload.Least();
    if (lengths[bin] > room) {
      if (!by_length.has_value()) by_length.emplace(lengths);
      bin = by_length->Least();
    }
    if (lengths[bin] > room) {
      assigned.push_back(kLeftOver);
      continue;
    }
    assigned.push_back(static_cast<uint32_t>(bin));
    const bool full = ++documents[bin] == most_documents;
    lengths[bin] = full ? kFull : lengths[bin] + size;
    attention[bin] += workload.AttentionNs(document->length);
    if (by_length.has_value()) by_length->Set(bin, lengths[bin]);
    by_workload.Set(
        bin,
        full ? kFull
             : attention[bin] + workload.LinearNs(static_cast<uint64_t>(lengths[bin])));
  }
  return Collect(work_list, assigned, micro_batches, capacity.padding, workload);
}

}  // namespace evenpack
