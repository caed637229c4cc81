#include "server/core/packing/assign_to_lightest.h"

#include <algorithm>
#include <limits>

#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_tree.h"

namespace evenpack {
namespace {

int64_t SizeOf(const Document* document, const PaddingRule& padding) {
  return static_cast<int64_t>(PaddedLength(padding, document->length));
}

int64_t LeastSize(const WorkList& work_list, const PaddingRule& padding) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Document* document : work_list) {
    least = std::min(least, SizeOf(document, padding));
  }
  return least;
}

}  // namespace

std::vector<uint32_t> AssignToLightest(const WorkList& work_list, size_t micro_batches,
                                       const Capacity& capacity,
                                       const LeaningWorkload& workload) {
  // Copies, which stay in registers.
  const PaddingRule padding = capacity.padding;
  const uint32_t most_documents = capacity.documents;
  const auto most_tokens = int64_t{capacity.tokens};
  BinTree bins(micro_batches);
  std::vector<int64_t> attention(micro_batches, 0);
  std::vector<int64_t> lengths(micro_batches, 0);
  std::vector<uint32_t> documents(micro_batches, 0);
  std::vector<uint32_t> assigned;
  assigned.reserve(work_list.size());
  const int64_t least = LeastSize(work_list, padding);
  for (const Document* document : work_list) {
    const int64_t size = SizeOf(document, padding);
    const int64_t room = std::max<int64_t>(most_tokens - size, 0);
    const uint32_t bin = bins.LeastWithin(room);
    assigned.push_back(bin);
    if (bin == kLeftOver) continue;
    attention[bin] += workload.AttentionNs(document->length);
    lengths[bin] += size;
    if (lengths[bin] + least > most_tokens || ++documents[bin] == most_documents) {
      bins.Close(bin);
      continue;
    }
    bins.Set(bin,
             attention[bin] + workload.LinearNs(static_cast<uint64_t>(lengths[bin])),
             lengths[bin]);
  }
  return assigned;
}

}  // namespace evenpack
